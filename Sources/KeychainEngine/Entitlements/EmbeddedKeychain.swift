package import KeychainModel

/// The keychain of this process, opened at first use.
package enum EmbeddedKeychain {
    package static func connection() throws(KeychainFailure) -> KeychainConnection {
        throw KeychainFailure(.notAvailable, "not built")
    }
}
