// Secrets: what the server keeps in the keychain, and nothing else knows where that is.

public import Keychain

/// The secrets of the shop's server.
public struct Secrets: Sendable {
    private let keychain: Keychain

    /// - Parameter keychain: Where they are. Tests give one in memory.
    public init(_ keychain: Keychain = Keychain(service: "shop")) {
        self.keychain = keychain
    }

    /// The password of the database.
    ///
    /// It is asked for with each connection, and not kept: a load takes microseconds, and a password
    /// that was replaced counts from the next connection on.
    ///
    /// - Throws: ``MissingSecret`` where there is none, `KeychainError` where it can't be read.
    public func databasePassword() async throws -> String {
        guard let password = try await keychain.load(.databasePassword) else {
            throw MissingSecret(account: KeychainKey.databasePassword.account)
        }
        return password
    }
}

extension KeychainKey where Value == String {
    /// A server has no screen that is locked: it reads the password at any time after its start.
    public static var databasePassword: Self {
        Self("database", accessibility: .afterFirstUnlock)
    }
}

/// A secret that has to be provisioned first.
public struct MissingSecret: Error, Equatable, CustomStringConvertible {
    /// The account of the item.
    public let account: String

    /// A sentence for people, with the command that helps.
    public var description: String {
        "The keychain has no secret shop/\(account). `keychainctl set shop/\(account)` saves it."
    }
}
