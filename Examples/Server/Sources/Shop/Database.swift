// Database: creates connections with a password from the keychain.

/// A client of a database. In a real server, this is a type of the database's library.
public protocol DatabaseClient: Sendable {
    func connect(user: String, password: String) async throws
}

/// Connects to the database of the shop.
public struct Database: Sendable {
    private let secrets: Secrets
    private let client: any DatabaseClient

    /// Creates a database with a client and the secrets that it needs.
    public init(_ secrets: Secrets, _ client: any DatabaseClient) {
        self.secrets = secrets
        self.client = client
    }

    /// Connects with the current password.
    public func connect() async throws {
        try await client.connect(user: "shop", password: secrets.databasePassword())
    }
}
