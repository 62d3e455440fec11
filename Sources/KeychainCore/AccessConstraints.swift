// AccessConstraints: what must be satisfied before an item's secret is opened, beside its
// protection class.
//   (1) The bits are Apple's `SecAccessControlCreateFlags`; a value is valid or not as the rules of
//       `SecAccessControlCreateWithFlags` say, which are checked there.

/// The conditions of an item's access control. None: the protection class alone decides.
package struct AccessConstraints: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// As every option set has it. Other modules call that one unspecialized, once for each row.
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

    /// What must be satisfied; the rest says how.
    package static let conditions: AccessConstraints = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
        .applicationPassword,
    ]

    /// Every bit that has a meaning.
    package static let known: AccessConstraints = [conditions, .or, .and, .privateKeyUsage]

    /// Whether opening the secret takes more than the protection class.
    package var needsAuthentication: Bool { !isDisjoint(with: Self.conditions) }

    /// Whether what a request shows is enough: the application password where it is asked for, and
    /// of the other conditions any one with ``or``, else all.
    ///
    /// Presence, which the passcode proves, is what ``userPresence`` and ``devicePasscode`` ask for.
    /// Biometry satisfies ``userPresence`` too, and ``biometryCurrentSet`` where the enrollment is
    /// the one that the item was made for. There is no companion.
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

    /// Whether presence or the passcode is among what is asked for.
    package var asksForPasscode: Bool { !isDisjoint(with: [.userPresence, .devicePasscode]) }

    /// What still opens an item whose enrollment is no longer there: the same without
    /// ``biometryCurrentSet``. nil where no other condition that a person can satisfy would do.
    package var afterChangedEnrollment: AccessConstraints? {
        guard contains(.biometryCurrentSet) else { return self }
        let others: AccessConstraints = [.userPresence, .biometryAny, .devicePasscode]
        guard contains(.or), !isDisjoint(with: others) else { return nil }
        return subtracting(.biometryCurrentSet)
    }

    /// Whether nothing opens the secret without the application password: it takes part in the
    /// encryption, so nothing can stand in for it, with ``or`` either.
    package var requiresApplicationPassword: Bool { contains(.applicationPassword) }
}
