// Keychain.AccessControl: the authentication that opening a secret or using a key requires.
//   (1) Only combinations that the keychain can store can be created.

import KeychainCore

extension Keychain {
    /// The authentication that is required to open a secret or to use a Secure Enclave key, in
    /// addition to the conditions of its ``Accessibility``.
    ///
    /// ```swift
    /// extension KeychainKey where Value == String {
    ///     static var masterPassword: Self {
    ///         Self("master", accessibility: .whenUnlocked, accessControl: .userPresence)
    ///     }
    /// }
    /// ```
    ///
    /// Loading or changing an item that has an access control asks the user of the program for
    /// authentication, or uses the context that was passed to `authenticating(with:)`. Adding,
    /// listing or deleting the item, and reading its attributes, requires no authentication, except
    /// that adding an item with an application password requires that password. If the user must
    /// not be asked, or can't be asked, as in a service without a terminal, the operation fails
    /// immediately with ``KeychainError/Code/interactionNotAllowed``. If only an application
    /// password is missing and the user can't be asked for it, the operation fails with
    /// ``KeychainError/Code/authFailed``.
    ///
    /// ``userPresence`` and ``devicePasscode`` require a passcode: while the keychain has neither a
    /// passcode nor, on Linux, another way to unlock it, saving an item with either of them fails
    /// with ``KeychainError/Code/authFailed``. An access control can be combined with every
    /// accessibility. A synchronizable item can't have an access control: saving it fails with
    /// ``KeychainError/Code/param``.
    ///
    /// The corresponding function is `SecAccessControlCreateWithFlags`, and the corresponding
    /// attribute `kSecAttrAccessControl`.
    public struct AccessControl: Hashable, Sendable {
        let constraints: AccessConstraints

        init(_ constraints: AccessConstraints) {
            self.constraints = constraints
        }

        /// The user enters the passcode or is recognized by biometric hardware (`userPresence`).
        public static let userPresence = AccessControl(.userPresence)

        /// The user enters the passcode (`devicePasscode`).
        public static let devicePasscode = AccessControl(.devicePasscode)

        /// The user is recognized by biometric hardware (`biometryAny`). On Linux no such hardware
        /// is supported: the item can be added, but opening it fails with
        /// ``KeychainError/Code/notAvailable``, or with
        /// ``KeychainError/Code/interactionNotAllowed`` if the user must not be asked.
        public static let biometryAny = AccessControl(.biometryAny)

        /// The user is recognized by biometric hardware, and the enrollment is the same as when the
        /// item was saved (`biometryCurrentSet`). After the enrollment has changed, opening the
        /// item fails with ``KeychainError/Code/dataNotAvailable``. For Linux, see ``biometryAny``.
        public static let biometryCurrentSet = AccessControl(.biometryCurrentSet)

        /// A password that the program defines and that the item's encryption depends on
        /// (`applicationPassword`).
        ///
        /// Set it as the credential of a context, with
        /// `context.setCredential(_:type: .applicationPassword)`. Without a credential, the user is
        /// asked for the password. If the password is wrong, or is missing and the user can't be
        /// asked, the operation fails with ``KeychainError/Code/authFailed``. If it is missing and
        /// the user must not be asked, the operation fails with
        /// ``KeychainError/Code/interactionNotAllowed``. A forgotten password can't be recovered.
        public static let applicationPassword = AccessControl(.applicationPassword)

        /// This access control with an application password as an additional condition.
        public var withApplicationPassword: AccessControl {
            AccessControl(constraints.union(.applicationPassword))
        }
    }
}

extension Keychain.AccessControl: CustomStringConvertible {
    /// The names of the conditions, such as "userPresence, applicationPassword".
    public var description: String {
        let names: [(AccessConstraints, String)] = [
            (.userPresence, "userPresence"), (.devicePasscode, "devicePasscode"),
            (.biometryAny, "biometryAny"), (.biometryCurrentSet, "biometryCurrentSet"),
            (.companion, "companion"), (.applicationPassword, "applicationPassword"),
        ]
        return names.filter { constraints.contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
