// Session: prints the program's checks, and counts the checks and the failures.
//   (1) The session and its own SecItem calls run on a separate queue, not on the main actor.
//   (2) A failed check is printed as "FAILED" and results in exit status 1.

import Dispatch
import Foundation
import SecItemFundamentals
import Security
import Synchronization

actor Session {
    /// The service of all generic passwords in this program.
    static let service = "org.example.fundamentals"

    private let executor = QueueExecutor(label: "Fundamentals")
    private let log = CallLog()
    private var failureCount = 0
    private var checkCount = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Runs the part of the session that the arguments specify.
    ///
    /// - Parameter arguments: The program's arguments.
    /// - Returns: The exit status.
    func run(_ arguments: [String]) async -> Int32 {
        var arguments = arguments
        if let index = arguments.firstIndex(of: "--calls") {
            arguments.remove(at: index)
            log.isPrinted.withLock { $0 = true }
        }
        let log = log
        return await SecItem.$observer.withValue({ log.append($0) }) {
            do {
                switch arguments {
                case []: try await everything()
                case ["locked"]: await locked()
                case ["unlocked"]: try await unlocked()
                default:
                    print("usage: Fundamentals [--calls] [locked | unlocked]")
                    return 64
                }
            } catch {
                print("FAILED: \(error)")
                return 1
            }
            let count = log.calls.withLock { $0.count }
            print("\n\(count) calls, \(checkCount) checks, \(failureCount) failed")
            return failureCount == 0 ? 0 : 1
        }
    }

    private func everything() async throws {
        try removeEverything()
        try await patterns()
        try await managers()
        try uniqueness()
        try limits()
        try shapes()
        try wrongDictionaries()
        try contradictedClaims()
        try statuses()
        try accessibility()
        try await keys()
        try removeEverything()
    }

    // MARK: Printing

    func title(_ text: String) { print("\n\(text)") }

    func check(_ sentence: String, _ holds: Bool) {
        checkCount += 1
        if holds {
            print("  \(sentence)")
        } else {
            failureCount += 1
            print("  FAILED: \(sentence)")
        }
    }

    /// Prints a row of a table as a check. All cells except the last are padded to 24 characters.
    func row(_ cells: [String], _ holds: Bool) {
        let padded = cells.dropLast().map { cell in
            cell + String(repeating: " ", count: max(0, 24 - cell.count))
        }
        check((padded + cells.suffix(1)).joined(separator: "  "), holds)
    }

    /// Runs code, prints the SecItem calls that the code made, and checks the result of the code.
    func calls(_ sentence: String, _ body: () async throws -> Bool) async throws {
        let start = log.calls.withLock { $0.count }
        let holds = try await body()
        for call in log.calls.withLock({ $0[start...] }) { print("    \(call)") }
        check(sentence, holds)
    }

    // MARK: The keychain

    /// The query for all items of the service, or for the item of one account.
    func query(_ account: String? = nil) -> [String: Any] {
        KeychainQueryBuilder.buildQuery(account: account, service: Self.service)
    }

    /// The attributes of a new item of the service.
    func password(_ account: String, _ secret: String = "secret") -> [String: Any] {
        KeychainQueryBuilder.buildAddition(
            of: Data(secret.utf8), account: account, service: Self.service,
            accessibility: kSecAttrAccessibleAfterFirstUnlock)
    }

    /// Adds items for the checks that follow.
    func put(_ accounts: String...) throws {
        for account in accounts {
            let status = SecItem.add(password(account))
            guard status == errSecSuccess else { throw KeychainError(status: status) }
        }
    }

    func find(_ query: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        let status = SecItem.copyMatching(query, &result)
        return (status, result)
    }

    /// The secret of an account as text, or `nil` if there is none.
    func secret(_ account: String) -> String? {
        let query = KeychainQueryBuilder.buildQuery(
            account: account, service: Self.service, returnData: true)
        return (find(query).result as? Data).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The persistent reference of an account's item.
    func reference(_ account: String) -> Data? {
        let search = KeychainQueryBuilder.buildSearch(
            query(account), returning: .persistentReference, limit: .one)
        return find(search).result as? Data
    }

    /// Deletes all items of the service, including synchronizable items.
    func removeEverything() throws {
        var query = query()
        query[kSecAttrSynchronizable as String] = kSecAttrSynchronizableAny
        try remove(query)
    }

    /// Deletes the items that match a query, if there are any.
    func remove(_ query: [String: Any]) throws {
        let status = SecItem.delete(query)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError(status: status)
        }
    }
}

/// The calls that the program has made, in order.
private final class CallLog: Sendable {
    let calls = Mutex<[SecItem.Call]>([])
    let isPrinted = Mutex(false)

    func append(_ call: SecItem.Call) {
        calls.withLock { $0.append(call) }
        if isPrinted.withLock({ $0 }) {
            FileHandle.standardError.write(Data("\(call.queue ?? "no queue"): \(call)\n".utf8))
        }
    }
}
