// AccessConstraints: the conditions, in addition to the protection class, under which an item's
// secret is opened.
//   (1) The bits are those of Apple's `SecAccessControlCreateFlags`.
//       `SecAccessControlCreateWithFlags` checks whether a combination is valid; this type doesn't.

/// The conditions of an item's access control. If empty, only the protection class applies.
package struct AccessConstraints: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Replaces the default implementation of `OptionSet`, which other modules would call
    /// unspecialized, once for each row.
    package init(arrayLiteral elements: AccessConstraints...) {
        self.init(rawValue: elements.reduce(0) { $0 | $1.rawValue })
    }

    package static let userPresence = AccessConstraints(rawValue: 1 << 0)
    package static let biometryAny = AccessConstraints(rawValue: 1 << 1)
    package static let biometryCurrentSet = AccessConstraints(rawValue: 1 << 3)
    package static let devicePasscode = AccessConstraints(rawValue: 1 << 4)
    package static let companion = AccessConstraints(rawValue: 1 << 5)
    package static let or = AccessConstraints(rawValue: 1 << 14)
    package static let and = AccessConstraints(rawValue: 1 << 15)
    package static let privateKeyUsage = AccessConstraints(rawValue: 1 << 30)
    package static let applicationPassword = AccessConstraints(rawValue: 1 << 31)

    /// The bits that stand for a condition. The other bits state how the conditions are combined,
    /// and that they apply to the use of a private key.
    package static let conditions: AccessConstraints = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
        .applicationPassword,
    ]

    /// All defined bits.
    package static let known: AccessConstraints = [conditions, .or, .and, .privateKeyUsage]

    /// Whether opening the secret requires authentication in addition to the protection class.
    package var needsAuthentication: Bool { !isDisjoint(with: Self.conditions) }

    /// Whether the given proofs satisfy the constraints.
    ///
    /// The application password is required wherever it is one of the constraints. Of the other
    /// conditions, one is enough with ``or``; otherwise all are required.
    ///
    /// Presence, proved by the passcode, satisfies ``userPresence`` and ``devicePasscode``.
    /// Biometry satisfies ``userPresence`` and ``biometryAny``, and also ``biometryCurrentSet`` if
    /// the current enrollment is the one that the item was created for. ``companion`` is never
    /// satisfied.
    package func isSatisfied(
        byPresence: Bool, biometry: Bool = false, isEnrollmentSame: Bool = false,
        applicationPassword: Bool
    ) -> Bool {
        if requiresApplicationPassword, !applicationPassword { return false }
        let asked = intersection(.conditions).subtracting(.applicationPassword)
        var shown: AccessConstraints = []
        if byPresence { shown.formUnion([.userPresence, .devicePasscode]) }
        if biometry { shown.formUnion([.userPresence, .biometryAny]) }
        if biometry, isEnrollmentSame { shown.insert(.biometryCurrentSet) }
        if asked.isEmpty { return true }
        return contains(.or) ? !asked.isDisjoint(with: shown) : asked.isSubset(of: shown)
    }

    /// Whether presence or the passcode is one of the conditions.
    package var asksForPasscode: Bool { !isDisjoint(with: [.userPresence, .devicePasscode]) }

    /// The constraints that remain for an item whose enrollment no longer exists: the same without
    /// ``biometryCurrentSet``. `nil` if no other condition that a user can satisfy opens the item.
    package var afterChangedEnrollment: AccessConstraints? {
        guard contains(.biometryCurrentSet) else { return self }
        let others: AccessConstraints = [.userPresence, .biometryAny, .devicePasscode]
        guard contains(.or), !isDisjoint(with: others) else { return nil }
        return subtracting(.biometryCurrentSet)
    }

    /// Whether the secret can't be opened without the application password. The password takes part
    /// in the encryption, so no other condition can replace it, not even with ``or``.
    package var requiresApplicationPassword: Bool { contains(.applicationPassword) }
}
