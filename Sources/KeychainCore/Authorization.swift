// Authorization: the proofs that come with a request for secrets under access constraints.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// The keychain's word that a person proved to be present. It is the answer to
/// ``Authenticate`` and good until the keychain is locked.
package struct AuthenticationGrant: Hashable, Sendable {
    @Hidden package private(set) var token: Bytes16

    package init(token: Bytes16) {
        self.token = token
    }
}

/// What a caller can show for itself. Whatever is nil wasn't shown.
package struct Authorization: Hashable, Sendable {
    package var grant: AuthenticationGrant?
    /// The keychain's word that biometric hardware recognized its owner. No function of a service
    /// gives it: it is between a keychain and the hardware beside it.
    package var recognition: AuthenticationGrant?
    /// The password that takes part in the encryption of an item, 0 bytes and up.
    @Hidden package var applicationPassword: Data?
    /// What identifies the set of fingers or faces that is enrolled now, 1 to 64 bytes. nil: none
    /// is, or there is no hardware. It is no proof: an item that is made for one enrollment keeps
    /// it, and opens for a recognition under the same.
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
