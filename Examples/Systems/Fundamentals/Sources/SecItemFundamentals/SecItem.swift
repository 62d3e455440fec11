// SecItem: calls the four SecItem functions. No other file of the program calls them directly.
//   (1) A call on the main actor terminates the program, because it would block the user interface.
//   (2) The compiler warns if a status is ignored. For Apple's own functions, it doesn't warn.
//   (3) A log may contain only a call's function, dictionary keys, status and queue label.

import Dispatch
import Foundation
import Security

/// The four SecItem functions, for use off the main actor.
public enum SecItem {
    /// The information about a call that may be logged.
    public struct Call: Sendable, CustomStringConvertible {
        /// Apple's name of the function.
        public let function: String
        /// The keys of the first dictionary, sorted.
        public let keys: [String]
        /// The keys of an update's second dictionary, sorted.
        public let changes: [String]
        /// The returned status.
        public let status: OSStatus
        /// The label of the queue that made the call, or `nil` if ``name(_:)`` was never called
        /// with this queue.
        public let queue: String?

        /// The function, the keys and the status, as a line for a log.
        public var description: String {
            let changes = changes.isEmpty ? "" : " [\(self.changes.joined(separator: " "))]"
            return "\(function) [\(keys.joined(separator: " "))]\(changes) \(status)"
        }
    }

    /// A closure that is called after each SecItem call in this task, on the thread of that call.
    @TaskLocal public static var observer: (@Sendable (Call) -> Void)?

    /// Adds an item with `SecItemAdd`.
    ///
    /// - Parameters:
    ///   - attributes: The item.
    ///   - result: Receives what the return keys request.
    /// - Returns: The status.
    public static func add(
        _ attributes: [String: Any], _ result: inout CFTypeRef?
    ) -> OSStatus {
        checkActor()
        let status = SecItemAdd(attributes as CFDictionary, &result)
        note("SecItemAdd", attributes, status)
        return status
    }

    /// Adds an item with `SecItemAdd`, without a result.
    ///
    /// - Parameter attributes: The item.
    /// - Returns: The status.
    public static func add(_ attributes: [String: Any]) -> OSStatus {
        checkActor()
        let status = SecItemAdd(attributes as CFDictionary, nil)
        note("SecItemAdd", attributes, status)
        return status
    }

    /// Finds items with `SecItemCopyMatching`.
    ///
    /// - Parameters:
    ///   - query: The query and the return keys.
    ///   - result: Receives what the return keys request.
    /// - Returns: The status.
    public static func copyMatching(
        _ query: [String: Any], _ result: inout CFTypeRef?
    ) -> OSStatus {
        checkActor()
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        note("SecItemCopyMatching", query, status)
        return status
    }

    /// Finds items with `SecItemCopyMatching`, with a dictionary whose keys are of type `CFString`.
    ///
    /// - Parameter query: The query and the return keys.
    /// - Returns: The status and the result.
    public static func copyMatching(_ query: [CFString: Any]) -> (OSStatus, CFTypeRef?) {
        checkActor()
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        let keys = query.map { ($0.key as String, $0.value) }
        note("SecItemCopyMatching", Dictionary(uniqueKeysWithValues: keys), status)
        return (status, result)
    }

    /// Changes items with `SecItemUpdate`.
    ///
    /// - Parameters:
    ///   - query: The query for the items.
    ///   - changes: The changes.
    /// - Returns: The status.
    public static func update(_ query: [String: Any], _ changes: [String: Any]) -> OSStatus {
        checkActor()
        let status = SecItemUpdate(query as CFDictionary, changes as CFDictionary)
        note("SecItemUpdate", query, changes: changes, status)
        return status
    }

    /// Deletes items with `SecItemDelete`.
    ///
    /// - Parameter query: The query for the items.
    /// - Returns: The status.
    public static func delete(_ query: [String: Any]) -> OSStatus {
        checkActor()
        let status = SecItemDelete(query as CFDictionary)
        note("SecItemDelete", query, status)
        return status
    }

    private static func note(
        _ function: String, _ query: [String: Any], changes: [String: Any] = [:],
        _ status: OSStatus
    ) {
        observer?(
            Call(
                function: function, keys: query.keys.sorted(), changes: changes.keys.sorted(),
                status: status, queue: DispatchQueue.getSpecific(key: label)))
    }

    // MARK: Queues

    private static let label = DispatchSpecificKey<String>()
    private static let main = DispatchSpecificKey<Bool>()
    private static let markMain: Void = DispatchQueue.main.setSpecific(key: main, value: true)

    /// Stores a queue's label in the queue, so that calls on the queue can report the label.
    ///
    /// - Parameter queue: The queue.
    public static func name(_ queue: DispatchQueue) {
        queue.setSpecific(key: label, value: queue.label)
    }

    /// Whether this code runs on the main actor.
    ///
    /// This property examines the queue, because on Linux the main actor does not necessarily run
    /// on the main thread.
    public static var isOnMainActor: Bool {
        _ = markMain
        return DispatchQueue.getSpecific(key: main) ?? false
    }

    private static func checkActor() {
        precondition(!isOnMainActor, "A SecItem function was called on the main actor.")
    }
}
