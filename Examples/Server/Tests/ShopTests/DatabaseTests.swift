// DatabaseTests: tests the server with a keychain in memory. The tests need no keychain service, no
// file and no real secret, so they run anywhere and in parallel.

import Keychain
import KeychainTesting
import Shop
import Synchronization
import Testing

@Suite struct `The database's password` {
    private let test = TestKeychain()

    private var keychain: Keychain { Keychain(service: "shop", in: test.database) }

    @Test func `each connection uses the stored password, even after the password is replaced`()
        async throws
    {
        let client = Client()
        let database = Database(Secrets(keychain), client)
        for password in ["tiger", "lion"] {
            try await keychain.save(password, for: .databasePassword)
            try await database.connect()
        }
        #expect(client.passwords == ["tiger", "lion"])
    }

    @Test func `without a password, connecting fails and the error names the command to save one`()
        async throws
    {
        let client = Client()
        let missing = await #expect(throws: MissingSecret.self) {
            try await Database(Secrets(keychain), client).connect()
        }
        #expect(missing?.description.contains("keychainctl set shop/database") == true)
        #expect(client.passwords.isEmpty)
    }

    @Test func `the password can't be read before the keychain is unlocked`() async throws {
        try await keychain.save("tiger", for: .databasePassword)
        try test.setPasscode("1234 5678")
        try test.restart()
        let error = await #expect(throws: KeychainError.self) {
            try await Secrets(keychain).databasePassword()
        }
        #expect(error?.code == .interactionNotAllowed)
        try test.unlock()
        #expect(try await Secrets(keychain).databasePassword() == "tiger")
    }
}

/// Records the passwords that it receives.
private final class Client: DatabaseClient {
    private let given = Mutex<[String]>([])

    var passwords: [String] { given.withLock { $0 } }

    func connect(user: String, password: String) async throws {
        given.withLock { $0.append(password) }
    }
}
