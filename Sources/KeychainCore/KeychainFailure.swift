// KeychainFailure: why a request was not carried out.
//   (1) `reason` is a text for people. It may name a file, an attribute's name or an item's
//       reference; it never holds an attribute's value or a secret.

/// The one error of the layers below the facades.
package struct KeychainFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, as Apple numbers it.
    package let status: Status
    /// What happened and what to do next, in a sentence or two.
    package let reason: String
    /// Tells apart what one status stands for.
    package let cause: Cause
    /// The persistent reference of the item the failure is about, where there is one.
    package let item: ItemReference?

    package enum Cause: Hashable, Sendable {
        /// Bytes are not what was written, or they are missing.
        case damage
        /// Files belong to another user, or are open to others.
        case permission
        /// Another process uses the keychain; a later attempt can succeed.
        case contention
        /// The keychain is behind a service, which didn't answer. It is not known whether the change
        /// was made.
        case interruption
        /// The item stays on its device, and this is another one.
        case otherMachine
        /// The item's constraints are not satisfied by what the request shows.
        case authentication(AccessConstraints)
        /// What the status says.
        case other
    }

    package init(
        _ status: Status, _ reason: String, cause: Cause = .other, item: ItemReference? = nil
    ) {
        self.status = status
        self.reason = reason
        self.cause = cause
        self.item = item
    }

    package var description: String {
        "\(reason) (\(status.rawValue))"
    }

    package static let duplicateItem = KeychainFailure(
        .duplicateItem, "An item with the same primary key exists.")

    package static let itemNotFound = KeychainFailure(
        .itemNotFound, "No item matches the query.")

    package static func locked(_ protection: ProtectionClass) -> KeychainFailure {
        KeychainFailure(
            .interactionNotAllowed,
            "The keychain is locked for items that are \(protection.words). "
                + "Keep the value and try again after unlock.")
    }

    /// An item's secret is to be opened or sealed, and the request doesn't show what that takes.
    /// No item: it is about to be added.
    package static func authenticationNeeded(
        _ constraints: AccessConstraints, _ item: ItemReference?
    ) -> KeychainFailure {
        KeychainFailure(
            .authenticationNeeded,
            "The item \(item.map { "\($0) " } ?? "")asks for authentication.",
            cause: .authentication(constraints), item: item)
    }

    /// An item was made for a biometric enrollment that is no longer there.
    package static func enrollmentChanged(_ item: ItemReference) -> KeychainFailure {
        KeychainFailure(
            .dataNotAvailable,
            "The biometric enrollment changed since the item \(item) was made, so it can't be "
                + "opened any more. Delete it, and get its data anew.",
            item: item)
    }

    package static func missingEntitlement(_ reason: String) -> KeychainFailure {
        KeychainFailure(.missingEntitlement, reason)
    }

    package static func param(_ reason: String) -> KeychainFailure {
        KeychainFailure(.param, reason)
    }

    /// The item is there, and its bytes are not what was written.
    package static func damagedItem(_ item: ItemReference) -> KeychainFailure {
        KeychainFailure(
            .decode,
            "The item \(item) is damaged. Nothing was deleted. "
                + "Run `keychainctl check`: it says how to move it out of the way.",
            cause: .damage, item: item)
    }

    /// The item was there, and was moved out of the way because it may be damaged.
    package static func setAsideItem(_ item: ItemReference) -> KeychainFailure {
        KeychainFailure(
            .decode,
            "The item \(item) was set aside. Nothing was deleted. Run `keychainctl restore \(item)` to "
                + "put it back, or `keychainctl restore --dismiss \(item)` to give it up.",
            cause: .damage, item: item)
    }

    /// A recovery lost items, and nothing tells which: this may be one of them.
    package static let lostItems = KeychainFailure(
        .decode,
        "No item matches, but a recovery could not bring every item back, and this may be one of "
            + "them. Restore it from a backup or save it anew. Run "
            + "`keychainctl restore --dismiss` to give up what was lost.",
        cause: .damage)

    /// The structure of the store can't be trusted, so that an absent item can't be told
    /// from an unreadable one.
    package static func damagedStore(_ what: String) -> KeychainFailure {
        KeychainFailure(
            .notAvailable,
            "The keychain is damaged: \(what). Nothing was changed. Run `keychainctl recover`: "
                + "it rebuilds the keychain from every item that is whole and keeps the "
                + "damaged file.", cause: .damage)
    }

    /// An entry of an index leads to a row that is not the one it is for.
    package static let misleadingIndex = damagedStore(
        "an index leads to an item that it should not lead to")

    /// There is nothing that could be recovered.
    package static func missingDatabase(in folder: String) -> KeychainFailure {
        KeychainFailure(
            .notAvailable,
            "keychain.db is missing from \(folder). Restore it from a backup, or move the folder "
                + "away to begin anew. Nothing was changed.", cause: .damage)
    }

    package static func missingDatabase(at path: String) -> KeychainFailure {
        .missingDatabase(in: String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)))
    }

    /// The file or folder is not this user's alone.
    package static func notPermitted(_ reason: String) -> KeychainFailure {
        KeychainFailure(.notAvailable, reason, cause: .permission)
    }

    /// Another process is in the way.
    package static func busy(_ reason: String) -> KeychainFailure {
        KeychainFailure(.notAvailable, reason, cause: .contention)
    }
}
