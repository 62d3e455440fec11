// KeychainFailure: the reason why a request was not carried out.
//   (1) `reason` is a text for users. It can contain a path, the name of an attribute or an item's
//       reference, but never the value of an item's attribute or a secret.

/// The error of every request. The layers below convert their own errors to this type, and the
/// facades convert this type to their own errors.
package struct KeychainFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error, as one of Apple's status codes.
    package let status: Status
    /// What happened and, if there is something to do, what to do next, in a few sentences.
    package let reason: String
    /// Distinguishes failures that have the same status.
    package let cause: Cause
    /// The reference of the item that caused the failure, if there is one.
    package let item: ItemReference?

    package enum Cause: Hashable, Sendable {
        /// Data is missing or differs from what was written.
        case damage
        /// The owner, the permissions or the type of a file, folder or socket don't permit the
        /// access, or make it unsafe.
        case permission
        /// The keychain, its service or its hardware is busy or can't be reached. A later attempt
        /// can succeed.
        case contention
        /// The keychain service didn't answer, or the change could not be synchronized to the
        /// disk. It is unknown whether the change was made.
        case interruption
        /// The item or key is bound to another machine or chip, or to one that can't be used. For a
        /// hardware key, also: the key belongs to another keychain.
        case otherMachine
        /// The request's proofs don't satisfy the item's constraints.
        case authentication(AccessConstraints)
        /// The status alone describes the failure.
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
                + "Keep any value that you were about to save, and try again after unlocking "
                + "the keychain.")
    }

    /// The error if the proofs for opening or sealing a secret are missing or not accepted. `item`
    /// is the item to open, or `nil` if a secret is to be sealed.
    package static func authenticationNeeded(
        _ constraints: AccessConstraints, _ item: ItemReference?
    ) -> KeychainFailure {
        KeychainFailure(
            .authenticationNeeded,
            "The item \(item.map { "\($0) " } ?? "")requires authentication.",
            cause: .authentication(constraints), item: item)
    }

    /// The error for an item that is bound to a biometric enrollment that no longer exists.
    package static func enrollmentChanged(_ item: ItemReference) -> KeychainFailure {
        KeychainFailure(
            .dataNotAvailable,
            "The biometric enrollment has changed since the item \(item) was created, so it can't "
                + "be opened any more. Delete it and obtain its data again.",
            item: item)
    }

    package static func missingEntitlement(_ reason: String) -> KeychainFailure {
        KeychainFailure(.missingEntitlement, reason)
    }

    package static func param(_ reason: String) -> KeychainFailure {
        KeychainFailure(.param, reason)
    }

    /// The error for an item that exists and is damaged.
    package static func damagedItem(_ item: ItemReference) -> KeychainFailure {
        KeychainFailure(
            .decode,
            "The item \(item) is damaged. Nothing was deleted. Run `keychainctl check` for "
                + "instructions on setting it aside.",
            cause: .damage, item: item)
    }

    /// The error for an item that was set aside because it may be damaged.
    package static func setAsideItem(_ item: ItemReference) -> KeychainFailure {
        KeychainFailure(
            .decode,
            "The item \(item) was set aside. Nothing was deleted. Run `keychainctl restore "
                + "\(item)` to put it back, or `keychainctl restore --dismiss \(item)` to discard "
                + "it.",
            cause: .damage, item: item)
    }

    /// The error for an item that isn't found after a recovery lost items. It is unknown which were
    /// lost, so this item may be one of them.
    package static let lostItems = KeychainFailure(
        .decode,
        "No item matches, but a recovery could not restore every item, and the item that you want "
            + "may be among the lost ones. Restore it from a backup or save it again. Run "
            + "`keychainctl restore --dismiss` to stop reporting lost items.",
        cause: .damage)

    /// The error for a store whose structure can't be trusted, so that an absent item can't be
    /// distinguished from an unreadable one. `change` is a sentence about what was changed before
    /// the damage was found.
    package static func damagedStore(
        _ what: String, change: String = "Nothing was changed."
    ) -> KeychainFailure {
        KeychainFailure(
            .notAvailable,
            "The keychain is damaged: \(what). \(change) Run `keychainctl recover`: it rebuilds "
                + "the keychain from all undamaged items and keeps the damaged file.",
            cause: .damage)
    }

    /// An index entry points to a row that doesn't match it.
    package static let misleadingIndex = damagedStore(
        "an index entry points to the wrong item")

    /// The error if the database is missing. If its log still has content, a recovery can use the
    /// log, and the error is ``damagedStore(_:change:)`` instead, unless the database is removed
    /// while it is being opened.
    package static func missingDatabase(in folder: String) -> KeychainFailure {
        KeychainFailure(
            .notAvailable,
            "keychain.db is missing from \(folder). Restore it from a backup, or move the folder "
                + "away to start with a new keychain. Nothing was changed.", cause: .damage)
    }

    package static func missingDatabase(at path: String) -> KeychainFailure {
        .missingDatabase(in: String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)))
    }

    /// The error for a file, folder or socket whose owner, permissions or type don't permit the
    /// access, or make it unsafe.
    package static func notPermitted(_ reason: String) -> KeychainFailure {
        KeychainFailure(.notAvailable, reason, cause: .permission)
    }

    /// The error for a request that can succeed in a later attempt.
    package static func busy(_ reason: String) -> KeychainFailure {
        KeychainFailure(.notAvailable, reason, cause: .contention)
    }
}
