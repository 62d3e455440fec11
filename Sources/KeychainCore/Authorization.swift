// Authorization: the proofs that accompany a request for secrets with access constraints.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// A token with which the keychain confirms that a user proved presence. For a passcode, it is the
/// answer to ``Authenticate``. It is valid until the keychain is locked or closed, its keys or its
/// binding to a machine are changed, or a passcode, recovery code or credential is added, changed
/// or removed.
package struct AuthenticationGrant: Hashable, Sendable {
    @Hidden package private(set) var token: Bytes16

    package init(token: Bytes16) {
        self.token = token
    }
}

/// The proofs that a caller presents. A proof that was not presented is `nil`.
package struct Authorization: Hashable, Sendable {
    package var grant: AuthenticationGrant?
    /// A token with which the keychain confirms that biometric hardware recognized the user. No
    /// request to a service returns one: it is used only between a keychain and the hardware of its
    /// own machine.
    package var recognition: AuthenticationGrant?
    /// The application password, which takes part in the encryption of an item. It can be empty.
    @Hidden package var applicationPassword: Data?
    /// The identifier of the current enrollment, 1 to 64 bytes. `nil` if there is no enrollment or
    /// no hardware. It proves nothing: an item that is bound to an enrollment stores this
    /// identifier, and a ``recognition`` opens the item while the identifier is the same.
    package var enrollment: Data?

    package init(
        grant: AuthenticationGrant? = nil, recognition: AuthenticationGrant? = nil,
        applicationPassword: Data? = nil, enrollment: Data? = nil
    ) {
        self.grant = grant
        self.recognition = recognition
        self.applicationPassword = applicationPassword
        self.enrollment = enrollment
    }
}
