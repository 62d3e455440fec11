// LetterTests: tests that the interface of SecItemFundamentals has exactly the required names,
// default values and texts.

import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

@Suite struct LetterTests {
    let keychain = TestKeychain()

    // MARK: KeychainQueryBuilder

    @Test func `by default a query is for generic passwords, and a search returns one item`() {
        let query = KeychainQueryBuilder.buildQuery()
        #expect(Set(query.keys) == [kSecClass as String, kSecUseDataProtectionKeychain as String])
        #expect(query[kSecClass as String] as? String == kSecClassGenericPassword as String)
        let search = KeychainQueryBuilder.buildQuery(returnData: true)
        #expect(search[kSecMatchLimit as String] as? String == kSecMatchLimitOne as String)
        #expect(search[kSecReturnAttributes as String] == nil)
    }

    @Test func `each argument of the query builder sets the entry for the matching constant`() {
        let query = KeychainQueryBuilder.buildQuery(
            forClass: kSecClassInternetPassword, account: "a", service: "s", accessGroup: "g",
            returnData: true, returnAttributes: true, matchLimit: kSecMatchLimitAll)
        let expected: [String: Any] = [
            kSecClass as String: kSecClassInternetPassword, kSecAttrAccount as String: "a",
            kSecAttrService as String: "s", kSecAttrAccessGroup as String: "g",
            kSecReturnData as String: true, kSecReturnAttributes as String: true,
            kSecMatchLimit as String: kSecMatchLimitAll,
            kSecUseDataProtectionKeychain as String: true,
        ]
        #expect(query as NSDictionary == expected as NSDictionary)
        let all = KeychainQueryBuilder.buildQuery(matchLimit: kSecMatchLimitAll)
        #expect(all[kSecMatchLimit as String] as? String == kSecMatchLimitAll as String)
    }

    @Test func `a query from the builder works with all four SecItem functions`() {
        let item = KeychainQueryBuilder.buildQuery(account: "a", service: "s")
        #expect(keychain.withSecItem { SecItem.add(item) } == errSecSuccess)
        #expect(keychain.copy(item).status == errSecSuccess)
        #expect(keychain.update(item, [kSecAttrLabel as String: "L"]) == errSecSuccess)
        #expect(keychain.delete(item) == errSecSuccess)
    }

    @Test func `each of the five classes is accepted, and an unknown class is refused`() throws {
        let classes = [
            kSecClassGenericPassword, kSecClassInternetPassword, kSecClassKey,
            kSecClassCertificate, kSecClassIdentity,
        ]
        for itemClass in classes {
            let query = KeychainQueryBuilder.buildQuery(
                forClass: itemClass, returnAttributes: true)
            #expect(keychain.copy(query).status == errSecItemNotFound)
        }
        let unknown = KeychainQueryBuilder.buildQuery(forClass: "none" as CFString)
        #expect(keychain.copy(unknown).status == errSecNoSuchClass)
        let website = KeychainQueryBuilder.buildQuery(forClass: kSecClassInternetPassword)
        #expect(keychain.add("a") == errSecSuccess)
        #expect(keychain.copy(website).status == errSecItemNotFound)
    }

    // MARK: KeychainError

    @Test func `an error is described by its status and the system's text`() throws {
        let text = try #require(SecCopyErrorMessageString(errSecItemNotFound, nil) as String?)
        let error = KeychainError(status: errSecItemNotFound)
        #expect("\(error)" == "KeychainError(-25300): \(text)")
        #expect(error.localizedDescription == error.description)
        #expect(error.status == errSecItemNotFound)
    }

    @Test func `a status without a text is described by its number`() {
        #expect("\(KeychainError(status: 7))" == "KeychainError(7): OSStatus 7")
    }

    // MARK: KeychainManager

    @Test func `the manager saves, loads, lists and deletes with the required methods`()
        async throws
    {
        let manager: KeychainManager = .shared
        try await keychain.withSecItem {
            try await manager.save(Data("a".utf8), for: "key")
            try await manager.save(
                Data("b".utf8), for: "other", accessibility: kSecAttrAccessibleWhenUnlocked)
            #expect(try await manager.load(for: "key") == Data("a".utf8))
            #expect(try await manager.allAccounts() == ["key", "other"])
            try await manager.delete(key: "key")
            #expect(try await manager.load(for: "key") == nil)
        }
        let items = try keychain.items()
        #expect(items.map(\.accessibility.rawValue) == ["ak"])
    }

    @Test func `by default an item is readable after the first unlock, on this device only`()
        async throws
    {
        try await keychain.withSecItem {
            try await KeychainManager(service: service).save(Data(), for: "a")
        }
        #expect(try keychain.items().map(\.accessibility.rawValue) == ["cku"])
        #expect(try keychain.items().map(\.isSynchronizable) == [false])
    }

    @Test func `the default service is the bundle identifier, or "default" if there is none`()
        async throws
    {
        try await keychain.withSecItem {
            try await KeychainManager().save(Data("mine".utf8), for: "a")
            let named = KeychainManager(service: Bundle.main.bundleIdentifier ?? "default")
            #expect(try await named.load(for: "a") == Data("mine".utf8))
            #expect(try await KeychainManager(service: "other").load(for: "a") == nil)
        }
    }

    // MARK: AuthViewModel

    @MainActor
    @Test func `a view model is authenticated if its last load found a token`() async throws {
        let manager = KeychainManager(service: service)
        let model = AuthViewModel(keychain: manager)
        try await keychain.withSecItem {
            await model.loadToken()
            #expect(!model.isAuthenticated)
            #expect(model.error == nil)
            try await manager.save(Data("t".utf8), for: "token")
            await model.loadToken()
            #expect(model.isAuthenticated)
            try await manager.delete(key: "token")
            await model.loadToken()
            #expect(!model.isAuthenticated)
        }
    }

    @MainActor
    @Test func `a locked keychain doesn't sign out the user of a view model`() async throws {
        let manager = KeychainManager(service: service)
        let model = AuthViewModel(keychain: manager)
        try await keychain.withSecItem {
            try await manager.save(Data("t".utf8), for: "token")
            await model.loadToken()
            keychain.inject(.locked, into: .search, times: 1)
            await model.loadToken()
            #expect(model.isAuthenticated)
            #expect(model.error == KeychainError(status: errSecInteractionNotAllowed))
            await model.loadToken()
            #expect(model.isAuthenticated)
            #expect(model.error == nil)
        }
    }

    // MARK: LegacyKeychainManager

    /// A dispatch queue doesn't inherit a test keychain, so this test uses a separate process with
    /// a keychain in a temporary folder.
    @Test
    func `the legacy manager reads on queue com.app.keychain and answers each call once, in order`()
        async
    {
        await #expect(processExitsWith: .success) {
            try await withOwnKeychain {
                let manager = KeychainManager(service: service)
                for account in ["a", "b"] {
                    try await manager.save(Data(account.utf8), for: account)
                }
                let legacy = LegacyKeychainManager(service: service)
                let recorder = Recorder()
                let answers = await recorder.record {
                    await withCheckedContinuation { continuation in
                        let accounts = ["a", "none", "b", "a"]
                        let box = Answers(count: accounts.count) {
                            continuation.resume(returning: $0)
                        }
                        for account in accounts {
                            legacy.load(key: account) { box.append($0) }
                        }
                    }
                }
                #expect(answers == ["a", "nil", "b", "a"])
                #expect(
                    recorder.calls.map(\.queue) == Array(repeating: "com.app.keychain", count: 4))
                #expect(recorder.calls.map(\.status) == [0, errSecItemNotFound, 0, 0])
            }
        }
    }

    @Test func `the legacy manager reports an item without data as an error`() async {
        await #expect(processExitsWith: .success) {
            try await withOwnKeychain {
                let legacy = LegacyKeychainManager(service: service)
                let item = query("a").with(kSecAttrLabel, "no data")
                #expect(SecItem.add(item) == errSecSuccess)
                let error = await withCheckedContinuation { continuation in
                    legacy.load(key: "a") { result in
                        continuation.resume(returning: result.keychainError)
                    }
                }
                #expect(error == KeychainError(status: errSecDataNotAvailable))
            }
        }
    }
}
