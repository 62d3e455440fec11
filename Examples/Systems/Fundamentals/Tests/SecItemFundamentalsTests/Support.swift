// Support: queries, a recorder for calls and other code that all suites use.

import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Synchronization

let service = "org.example.fundamentals"

func query(_ account: String? = nil) -> [String: Any] {
    KeychainQueryBuilder.buildQuery(account: account, service: service)
}

extension [String: Any] {
    func with(_ key: CFString, _ value: Any) -> [String: Any] {
        merging([key as String: value]) { $1 }
    }

    func without(_ key: CFString) -> [String: Any] {
        filter { $0.key != key as String }
    }
}

extension TestKeychain {
    func add(_ account: String, _ more: [CFString: Any] = [:]) -> OSStatus {
        var item = KeychainQueryBuilder.buildAddition(
            of: Data("secret".utf8), account: account, service: service,
            accessibility: kSecAttrAccessibleAfterFirstUnlock)
        for (key, value) in more { item[key as String] = value }
        return withSecItem { SecItem.add(item) }
    }

    func copy(_ query: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        withSecItem {
            var result: CFTypeRef?
            let status = SecItem.copyMatching(query, &result)
            return (status, result)
        }
    }

    func update(_ query: [String: Any], _ changes: [String: Any]) -> OSStatus {
        withSecItem { SecItem.update(query, changes) }
    }

    func delete(_ query: [String: Any]) -> OSStatus {
        withSecItem { SecItem.delete(query) }
    }

    /// The secret of an account as text, or `nil` if there is none.
    func secret(_ account: String) -> String? {
        let found = copy(query(account).with(kSecReturnData, true))
        return (found.result as? Data).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Records SecItem calls, in order.
final class Recorder: Sendable {
    private let recorded = Mutex<[SecItem.Call]>([])

    var calls: [SecItem.Call] { recorded.withLock { $0 } }

    /// Records the calls that a closure makes.
    func record<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await SecItem.$observer.withValue({ call in
            self.recorded.withLock { $0.append(call) }
        }) {
            try await body()
        }
    }
}

/// The status of the `KeychainError` that a closure throws: 0 if it throws nothing, `nil` for
/// another error.
nonisolated(nonsending) func status(of body: () async throws -> Void) async -> OSStatus? {
    do {
        try await body()
        return errSecSuccess
    } catch {
        return (error as? KeychainError)?.status
    }
}

// MARK: For managers on a dispatch queue

/// Runs code with a keychain that this process opens in a temporary folder. This function changes
/// the environment, so the process must not be used for anything else.
nonisolated(nonsending) func withOwnKeychain(_ body: () async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
        .appending(path: "fundamentals-\(UUID().uuidString)")
    setenv("KEYCHAIN_DIRECTORY", folder.path, 1)
    setenv("KEYCHAIN_SERVICE", "embedded", 1)
    setenv("KEYCHAIN_TPM", "none", 1)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body()
}

/// Collects the results of several calls as text. Calls `finish` when all results have arrived.
final class Answers: Sendable {
    private let texts = Mutex<[String]>([])
    private let count: Int
    private let finish: @Sendable ([String]) -> Void

    init(count: Int, finish: @escaping @Sendable ([String]) -> Void) {
        self.count = count
        self.finish = finish
    }

    func append(_ result: Result<Data?, Error>) {
        let text =
            switch result {
            case .success(let data): data.map { String(decoding: $0, as: UTF8.self) } ?? "nil"
            case .failure(let error): "\(error)"
            }
        let all = texts.withLock { texts in
            texts.append(text)
            return texts
        }
        if all.count == count { finish(all) }
    }
}

extension Result<Data?, Error> {
    var keychainError: KeychainError? {
        if case .failure(let error) = self { return error as? KeychainError }
        return nil
    }
}
