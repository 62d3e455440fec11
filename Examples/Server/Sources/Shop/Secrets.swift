// Secrets: the server's secrets. No other file of the server depends on where they are stored.

public import Keychain

/// The secrets of the shop's server.
public struct Secrets: Sendable {
    private let keychain: Keychain

    /// - Parameter keychain: The keychain that contains the secrets. Tests pass a keychain in
    ///   memory.
    public init(_ keychain: Keychain = Keychain(service: "shop")) {
        self.keychain = keychain
    }

    /// The password of the database.
    ///
    /// The password is loaded for each connection and not cached. A load takes microseconds, and a
    /// replaced password takes effect with the next connection.
    ///
    /// - Throws: ``MissingSecret`` if there is no password, `KeychainError` if it can't be read.
    public func databasePassword() async throws -> String {
        guard let password = try await keychain.load(.databasePassword) else {
            throw MissingSecret(account: KeychainKey.databasePassword.account)
        }
        return password
    }
}

extension KeychainKey where Value == String {
    /// The password of the database. A server has no lock screen, so it must be able to read the
    /// password at any time after the first unlock.
    public static var databasePassword: Self {
        Self("database", accessibility: .afterFirstUnlock)
    }
}

/// The error for a secret that the keychain doesn't contain.
public struct MissingSecret: Error, Equatable, CustomStringConvertible {
    /// The account of the item.
    public let account: String

    /// A description for users, with the command that solves the problem.
    public var description: String {
        "The keychain has no secret shop/\(account). `keychainctl set shop/\(account)` saves it."
    }
}
