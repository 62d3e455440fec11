// ItemReader: reads one item repeatedly, and its secret only if the item has changed.
//   (1) A change is detected by reference and modification date: an update increases the date, and
//       deleting and adding the item creates a new reference.
//   (2) The user is never asked for authentication: an item with an access control is unavailable,
//       unless, on Linux, the keychain's context remembers the authentication.
//   (3) A state that is the same as the last one returned isn't returned again, unless the version
//       of the last returned value is unknown. After the item was unavailable, its state is
//       returned even if it is the same as before.

import Foundation
import KeychainCore

struct ItemReader: Sendable {
    private enum Seen: Hashable {
        case version(reference: Data, date: Date)
        case absent
        case unavailable(KeychainError.Code)
    }

    private let access: ItemAccess
    /// The last state that was returned, or `nil` if there is none or its version is unknown.
    private var seen: Seen?

    init(_ keychain: Keychain, account: String) {
        access = keychain.withoutInteraction.access(.load, account)
    }

    /// Reads the item. May block.
    ///
    /// - Returns: The state, or `nil` if it is the same as the last one returned, see (3).
    mutating func read(_ follower: ChangeFollower) -> KeychainState<Data>? {
        do {
            return try look(follower)
        } catch {
            follower.retryLater()
            return isNews(.unavailable(error.code)) ? .unavailable(error) : nil
        }
    }

    private mutating func look(
        _ follower: ChangeFollower
    ) throws(KeychainError) -> KeychainState<Data>? {
        // Subscribe first, so that the follower reports a change during the read.
        try access.subscribe(follower)
        // Another thread or process may change the item between the two reads, but is unlikely to
        // do so 8 times in a row.
        for _ in 0..<8 {
            guard let item = try access.attributes() else {
                return isNews(.absent) ? .absent : nil
            }
            let version = Seen.version(
                reference: item.persistentReference, date: item.modificationDate)
            if seen == version { return nil }
            if let data = try access.load(item) {
                seen = version
                return .value(data)
            }
        }
        // The version of this value is unknown, so the next call reads the secret again.
        seen = nil
        guard let data = try access.load() else { return .absent }
        return .value(data)
    }

    private mutating func isNews(_ now: Seen) -> Bool {
        defer { seen = now }
        return seen != now
    }
}

extension ItemAccess {
    fileprivate func subscribe(_ follower: ChangeFollower) throws(KeychainError) {
        do { try follower.subscribe() } catch { throw failed(error) }
    }

    /// The secret of the item in the version with these attributes, or `nil` if the item has
    /// changed since.
    fileprivate func load(_ version: Keychain.Item) throws(KeychainError) -> Data? {
        try ofVersion(.date(version.modificationDate.timeIntervalSinceReferenceDate)).load()
    }
}
