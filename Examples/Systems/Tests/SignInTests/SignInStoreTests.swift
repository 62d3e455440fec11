// SignInStore: save, read, delete and exists, by the SecItem functions on a keychain in memory.

import Foundation
import Keychain
import KeychainServices
import KeychainTesting
import SignIn
import Testing

@Suite struct `Sign-in store` {
    let test = TestKeychain()
    let store = SignInStore()

    @Test func `what is saved is read, exists, is replaced and is deleted`() async throws {
        try await test.withSecItem {
            #expect(try await store.read(.userIdentifier) == nil)
            #expect(try await !store.exists(.userIdentifier))
            for user in ["alice", "", "Žofie 🐩\n\0", String(repeating: "x", count: 100_000)] {
                try await store.save(user, for: .userIdentifier)
                #expect(try await store.read(.userIdentifier) == user)
                #expect(try await store.exists(.userIdentifier))
            }
            try await store.delete(.userIdentifier)
            #expect(try await store.read(.userIdentifier) == nil)
            #expect(try await !store.exists(.userIdentifier))
            try await store.delete(.userIdentifier)
        }
    }

    @Test func `the item has the app's service, a typed key, and stays on this device`()
        async throws
    {
        try await test.withSecItem { try await store.save("alice", for: .userIdentifier) }
        let items = try test.items()
        #expect(items.count == 1)
        let item = try #require(items.first)
        #expect(item.service == "com.steeven.mysubguard")
        #expect(item.account == SignInKey.userIdentifier.rawValue)
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(!item.isSynchronizable)
        for key in SignInKey.allCases {
            #expect(key.rawValue.hasPrefix("\(SignInKey.service)."))
        }
    }

    @Test func `saving over an item changes it in place`() async throws {
        let start = Date(timeIntervalSinceReferenceDate: 1000)
        try await test.withSecItem {
            test.now = start
            try await store.save("alice", for: .userIdentifier)
            test.now = start + 60
            try await store.save("bob", for: .userIdentifier)
        }
        let item = try #require(try test.items().first)
        #expect(item.creationDate == start)
        #expect(item.modificationDate == start + 60)
    }

    @Test func `looking whether a key exists opens no secret`() async throws {
        try await test.withSecItem {
            try await store.save("alice", for: .userIdentifier)
            #expect(try await store.exists(.userIdentifier))
            #expect(test.openedSecretCount == 0)
            #expect(try await store.read(.userIdentifier) == "alice")
            #expect(test.openedSecretCount == 1)
        }
    }

    @Test func `an item that another process deletes during a save is saved nevertheless`()
        async throws
    {
        try await test.withSecItem {
            // It was there for the addition, and isn't any more for the update.
            test.inject(.failure(.duplicateItem), into: .add, times: 1)
            try await store.save("alice", for: .userIdentifier)
            #expect(try await store.read(.userIdentifier) == "alice")
        }
    }

    @Test func `bytes that are no text are an error and stay`() async throws {
        try await test.withSecItem { () async throws in
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: SignInKey.service,
                kSecAttrAccount as String: SignInKey.userIdentifier.rawValue,
                kSecValueData as String: Data([0xFF, 0xFE]),
            ]
            #expect(SecItemAdd(query as CFDictionary, nil) == errSecSuccess)
            await #expect(throws: SignInError(.read, errSecDecode)) {
                try await store.read(.userIdentifier)
            }
            #expect(try await store.exists(.userIdentifier))
        }
    }

    @Test(arguments: [
        errSecInteractionNotAllowed, errSecAuthFailed, errSecDiskFull, errSecIO, errSecNotAvailable,
        -99_999,
    ])
    func `every status of the keychain arrives as it is, and nothing is changed`(
        status: OSStatus
    ) async throws {
        try await test.withSecItem {
            try await store.save("alice", for: .userIdentifier)
            test.inject(.failure(.init(rawValue: status)))
            await #expect(throws: SignInError(.save, status)) {
                try await store.save("bob", for: .userIdentifier)
            }
            await #expect(throws: SignInError(.read, status)) {
                try await store.read(.userIdentifier)
            }
            await #expect(throws: SignInError(.read, status)) {
                try await store.exists(.userIdentifier)
            }
            await #expect(throws: SignInError(.delete, status)) {
                try await store.delete(.userIdentifier)
            }
            test.removeFaults()
            #expect(try await store.read(.userIdentifier) == "alice")
        }
    }

    @Test func `an error has a text for people with its status and without a name`() {
        let error = SignInError(.save, errSecDiskFull)
        #expect(error.localizedDescription.contains("(-34)"))
        #expect(error.localizedDescription.hasPrefix("Could not save the sign-in: "))
        #expect(!error.isLocked)
        #expect(SignInError(.read, errSecInteractionNotAllowed).isLocked)
    }

    @Test func `it stands on the SecItem functions alone`() throws {
        let folder = URL(filePath: "\(packagePath)/Sources/SignIn")
        let files = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 4)
        let imports = try files.flatMap { file in
            try String(contentsOf: file, encoding: .utf8)
                .matches(of: /(?m)^(?:public )?import (\w+)$/).map { String($0.1) }
        }
        #expect(Set(imports) == ["KeychainServices", "Observation"])
    }
}

private let packagePath = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast(3).joined(separator: "/")
