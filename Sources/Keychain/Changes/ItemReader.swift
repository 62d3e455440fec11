// ItemReader: reads one item again and again, and its secret only if it is another one.
//   (1) Whether it is another is told by reference and modification date: an update moves the
//       date, deleting and adding gives a new reference.
//   (2) No person is asked: an item under an access control is unavailable.
//   (3) A state is given once. After it was unavailable, it is given anew even if it is the same.

import Foundation
import KeychainCore

struct ItemReader: Sendable {
    private enum Seen: Hashable {
        case version(reference: Data, date: Date)
        case absent
        case unavailable(KeychainError.Code)
    }

    private let access: ItemAccess
    /// nil: nothing was seen yet, or it is not certain what.
    private var seen: Seen?

    init(_ keychain: Keychain, account: String) {
        access = keychain.withoutInteraction.access(.load, account)
    }

    /// Reads the item; may block.
    ///
    /// - Returns: The state; nil if it is the one that was given last.
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
        // First: a change after this raises the flag again.
        try access.subscribe(follower)
        // Others may change the item between the two reads. No one does so for long.
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
        // Which version this is isn't known, so the next look reads it again.
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

    /// The secret of the item in the version of these attributes; nil if there is another by now.
    fileprivate func load(_ version: Keychain.Item) throws(KeychainError) -> Data? {
        try ofVersion(.date(version.modificationDate.timeIntervalSinceReferenceDate)).load()
    }
}
