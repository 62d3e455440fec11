// Keychain.AccessControl: who has to prove what before a secret is opened or a key is used.
//   (1) Only combinations that the keychain can keep can be made.

import KeychainCore

extension Keychain {
    /// What has to be shown before a secret is opened, or a key of the Secure Enclave is used, beside
    /// what its ``Accessibility`` asks for.
    ///
    /// ```swift
    /// extension KeychainKey where Value == String {
    ///     static var masterPassword: Self {
    ///         Self("master", accessibility: .whenUnlocked, accessControl: .userPresence)
    ///     }
    /// }
    /// ```
    ///
    /// Loading and changing such an item asks the person in front of the program, or the context that
    /// was given to `authenticating(with:)`. Adding, listing and deleting it,
    /// and reading its attributes, asks for nothing. Where no person can be asked, as in a service
    /// without a terminal, the operation fails at once with
    /// ``KeychainError/Code/interactionNotAllowed``.
    ///
    /// ``userPresence`` and ``devicePasscode`` need a passcode: without one, adding the item fails with
    /// ``KeychainError/Code/authFailed``. Every accessibility goes with an access control, but
    /// a synchronizable item can't have one: saving it fails with ``KeychainError/Code/param``.
    ///
    /// The corresponding function is `SecAccessControlCreateWithFlags`, and the attribute
    /// `kSecAttrAccessControl`.
    public struct AccessControl: Hashable, Sendable {
        let constraints: AccessConstraints

        init(_ constraints: AccessConstraints) {
            self.constraints = constraints
        }

        /// A person who knows the passcode, or whom biometric hardware recognizes
        /// (`userPresence`).
        public static let userPresence = AccessControl(.userPresence)

        /// A person who knows the passcode (`devicePasscode`).
        public static let devicePasscode = AccessControl(.devicePasscode)

        /// A person whom biometric hardware recognizes (`biometryAny`). On Linux there is no such
        /// hardware: the item can be added, and not opened.
        public static let biometryAny = AccessControl(.biometryAny)

        /// A person who was enrolled when the item was saved, as long as the enrollment is the same
        /// (`biometryCurrentSet`). After that it fails with ``KeychainError/Code/dataNotAvailable``.
        public static let biometryCurrentSet = AccessControl(.biometryCurrentSet)

        /// A password of the program's own, which takes part in the encryption
        /// (`applicationPassword`).
        ///
        /// Set it as the credential of a context, by
        /// `context.setCredential(_:type: .applicationPassword)`; without one, the person is asked
        /// for it. A wrong one, and none where no person can be asked, fails with
        /// ``KeychainError/Code/authFailed``. A forgotten one can't be recovered.
        public static let applicationPassword = AccessControl(.applicationPassword)

        /// The same, and an application password as well.
        public var withApplicationPassword: AccessControl {
            AccessControl(constraints.union(.applicationPassword))
        }
    }
}

extension Keychain.AccessControl: CustomStringConvertible {
    /// The names of its conditions, such as "userPresence, applicationPassword".
    public var description: String {
        let names: [(AccessConstraints, String)] = [
            (.userPresence, "userPresence"), (.devicePasscode, "devicePasscode"),
            (.biometryAny, "biometryAny"), (.biometryCurrentSet, "biometryCurrentSet"),
            (.companion, "companion"), (.applicationPassword, "applicationPassword"),
        ]
        return names.filter { constraints.contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
