// Database: creates connections with a password from the keychain.

/// A client of a database. In a real server, the database's library provides such a type.
public protocol DatabaseClient: Sendable {
    func connect(user: String, password: String) async throws
}

/// Connects to the database of the shop.
public struct Database: Sendable {
    private let secrets: Secrets
    private let client: any DatabaseClient

    /// Creates a database that connects through a client, with the password in `secrets`.
    public init(_ secrets: Secrets, _ client: any DatabaseClient) {
        self.secrets = secrets
        self.client = client
    }

    /// Connects with the current password.
    public func connect() async throws {
        try await client.connect(user: "shop", password: secrets.databasePassword())
    }
}
