// SecItem: the four functions, each of them called here and nowhere else in this program.
//   (1) A call on the main actor ends the program: it would stop the user interface.
//   (2) A status can't be dropped unseen, as with Apple's functions: the compiler asks for it.
//   (3) What may be logged of a call is its name, the keys of its dictionaries and its status.

import Dispatch
import Foundation
import Security

/// The four SecItem functions, off the main actor.
public enum SecItem {
    /// What may be known of a call.
    public struct Call: Sendable, CustomStringConvertible {
        /// Apple's name of the function.
        public let function: String
        /// The keys of the first dictionary, sorted.
        public let keys: [String]
        /// The keys of an update's second dictionary, sorted.
        public let changes: [String]
        /// The answer.
        public let status: OSStatus
        /// The queue that the call was made on, where it is one that ``name(_:)`` knows.
        public let queue: String?

        /// Function, keys and status: the line of a log.
        public var description: String {
            let changes = changes.isEmpty ? "" : " [\(self.changes.joined(separator: " "))]"
            return "\(function) [\(keys.joined(separator: " "))]\(changes) \(status)"
        }
    }

    /// Hears of each call of the task, after it, on the thread that made it.
    @TaskLocal public static var observer: (@Sendable (Call) -> Void)?

    /// Adds an item: `SecItemAdd`.
    ///
    /// - Parameters:
    ///   - attributes: The item.
    ///   - result: Receives what return keys ask for.
    /// - Returns: The status.
    public static func add(
        _ attributes: [String: Any], _ result: inout CFTypeRef?
    ) -> OSStatus {
        checkActor()
        let status = SecItemAdd(attributes as CFDictionary, &result)
        note("SecItemAdd", attributes, status)
        return status
    }

    /// Adds an item: `SecItemAdd` without a result.
    ///
    /// - Parameter attributes: The item.
    /// - Returns: The status.
    public static func add(_ attributes: [String: Any]) -> OSStatus {
        checkActor()
        let status = SecItemAdd(attributes as CFDictionary, nil)
        note("SecItemAdd", attributes, status)
        return status
    }

    /// Finds items: `SecItemCopyMatching`.
    ///
    /// - Parameters:
    ///   - query: Which items, and what of them.
    ///   - result: Receives what return keys ask for.
    /// - Returns: The status.
    public static func copyMatching(
        _ query: [String: Any], _ result: inout CFTypeRef?
    ) -> OSStatus {
        checkActor()
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        note("SecItemCopyMatching", query, status)
        return status
    }

    /// Finds items by a dictionary of the other style: `SecItemCopyMatching`.
    ///
    /// - Parameter query: Which items, and what of them.
    /// - Returns: The status and the result.
    public static func copyMatching(_ query: [CFString: Any]) -> (OSStatus, CFTypeRef?) {
        checkActor()
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        let keys = query.map { ($0.key as String, $0.value) }
        note("SecItemCopyMatching", Dictionary(uniqueKeysWithValues: keys), status)
        return (status, result)
    }

    /// Changes items: `SecItemUpdate`.
    ///
    /// - Parameters:
    ///   - query: Which items.
    ///   - changes: What becomes different.
    /// - Returns: The status.
    public static func update(_ query: [String: Any], _ changes: [String: Any]) -> OSStatus {
        checkActor()
        let status = SecItemUpdate(query as CFDictionary, changes as CFDictionary)
        note("SecItemUpdate", query, changes: changes, status)
        return status
    }

    /// Deletes items: `SecItemDelete`.
    ///
    /// - Parameter query: Which items.
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

    // MARK: Where a call is made

    private static let label = DispatchSpecificKey<String>()
    private static let main = DispatchSpecificKey<Bool>()
    private static let markMain: Void = DispatchQueue.main.setSpecific(key: main, value: true)

    /// Has calls know a queue by its label.
    ///
    /// - Parameter queue: The queue.
    public static func name(_ queue: DispatchQueue) {
        queue.setSpecific(key: label, value: queue.label)
    }

    /// Whether this code runs on the main actor.
    ///
    /// Asked of the queue: on Linux the main actor need not run on the main thread.
    public static var isOnMainActor: Bool {
        _ = markMain
        return DispatchQueue.getSpecific(key: main) ?? false
    }

    private static func checkActor() {
        precondition(!isOnMainActor, "A SecItem function was called on the main actor.")
    }
}
