// Database: connections that are made with a password from the keychain.

/// A client of a database, in the place of the one that a server uses.
public protocol DatabaseClient: Sendable {
    func connect(user: String, password: String) async throws
}

/// Connects to the database of the shop.
public struct Database: Sendable {
    private let secrets: Secrets
    private let client: any DatabaseClient

    /// With a client, and the secrets that it needs.
    public init(_ secrets: Secrets, _ client: any DatabaseClient) {
        self.secrets = secrets
        self.client = client
    }

    /// Makes a connection with the password of now.
    public func connect() async throws {
        try await client.connect(user: "shop", password: secrets.databasePassword())
    }
}
