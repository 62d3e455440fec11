// Welcome: what the service says of itself and of the client that it speaks to.

package import KeychainEngine

/// The answer to the first request of a connection.
package struct Welcome: Hashable, Sendable {
    /// Whose keychain the service keeps.
    package enum Kind: Hashable, Sendable {
        /// Of the user who runs it.
        case user
        /// Of every user of the machine, one each.
        case system
    }

    /// The version of the protocol that the service speaks.
    package var version: UInt32
    /// What the client is entitled to.
    package var entitlements: Entitlements
    package var kind: Kind
    /// Whether the client may ask for what `KeychainAdministration` has.
    package var allowsAdministration: Bool

    package init(
        version: UInt32 = WireLimits.version, entitlements: Entitlements, kind: Kind,
        allowsAdministration: Bool
    ) {
        self.version = version
        self.entitlements = entitlements
        self.kind = kind
        self.allowsAdministration = allowsAdministration
    }
}
