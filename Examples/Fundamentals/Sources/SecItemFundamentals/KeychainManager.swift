// KeychainManager: the passwords of one service, one call to Security at a time and none of them
// on the main actor.

import Dispatch
import Foundation
import Security

/// Saves, loads, deletes and lists the secrets of one service.
public actor KeychainManager {
    private let queries: QueryBuilder
    private let log: @Sendable (String) -> Void
    private let executor = QueueExecutor(label: "KeychainManager")

    /// Calls to Security wait for another process or for the disk. They do so on a queue of this
    /// actor's own, not on a thread that Swift's tasks share.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// A manager of the items that a builder names.
    ///
    /// - Parameters:
    ///   - queries: Names the items.
    ///   - log: Takes one line for each call: its name, the keys of the query and the status.
    public init(_ queries: QueryBuilder, log: @escaping @Sendable (String) -> Void = { _ in }) {
        self.queries = queries
        self.log = log
    }

    /// Saves a secret: adds it, or changes the item where there is one. The item is never
    /// missing meanwhile and keeps its persistent reference.
    ///
    /// - Throws: `SecurityError`. With `errSecInteractionNotAllowed` the device is locked: try
    ///   again after the unlock, and never delete.
    public func save(
        _ secret: Data, account: String,
        accessibility: Accessibility = .afterFirstUnlockThisDeviceOnly
    ) throws {
        var status = errSecSuccess
        // Where another process deletes the item between the two calls, it is added after all.
        for _ in 0..<3 {
            let addition = queries.addition(
                of: secret, account: account, accessibility: accessibility)
            status = SecItemAdd(addition as CFDictionary, nil)
            note("SecItemAdd", addition, status)
            guard status == errSecDuplicateItem else { break }

            let query = queries.item(of: account)
            let change = queries.change(to: secret, accessibility: accessibility)
            status = SecItemUpdate(query as CFDictionary, change as CFDictionary)
            note("SecItemUpdate", query, status)
            guard status == errSecItemNotFound else { break }
        }
        guard status == errSecSuccess else { throw SecurityError(status) }
    }

    /// Loads a secret; nil where there is none.
    ///
    /// - Throws: `SecurityError`.
    public func load(account: String) throws -> Data? {
        let query = queries.secret(of: account)
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        note("SecItemCopyMatching", query, status)
        switch status {
        case errSecSuccess: return result as? Data
        case errSecItemNotFound: return nil
        default: throw SecurityError(status)
        }
    }

    /// Deletes a secret. That there is none is success.
    ///
    /// - Throws: `SecurityError`.
    public func delete(account: String) throws {
        let query = queries.item(of: account)
        let status = SecItemDelete(query as CFDictionary)
        note("SecItemDelete", query, status)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw SecurityError(status)
        }
    }

    /// The accounts that have a secret, in order. It reads attributes and opens no secret.
    ///
    /// - Throws: `SecurityError`.
    public func listAccounts() throws -> [String] {
        let query = queries.listing()
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        note("SecItemCopyMatching", query, status)
        switch status {
        case errSecSuccess:
            let items = result as? [[String: Any]] ?? []
            return items.compactMap { $0[kSecAttrAccount as String] as? String }.sorted()
        case errSecItemNotFound: return []
        default: throw SecurityError(status)
        }
    }

    private func note(_ call: String, _ query: [String: Any], _ status: OSStatus) {
        log("\(call) [\(QueryBuilder.shape(of: query))] \(status)")
    }
}

/// Runs an actor's code on a serial queue.
private final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
