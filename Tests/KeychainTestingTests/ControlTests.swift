// What a test can control (the lock, the passcode, the clock and the access groups), and what a
// test can observe.

import Foundation
import Keychain
import KeychainServices
import KeychainTesting
import Testing

extension KeychainKey where Value == String {
    /// An item that is readable only while the keychain is unlocked.
    static var pin: Self { Self("pin", label: "PIN", accessibility: .whenUnlocked) }
    /// An item that is readable after the first unlock.
    static var token: Self { Self("token", accessibility: .afterFirstUnlock) }
    /// An item that exists only while a passcode is set.
    static var vault: Self { Self("vault", accessibility: .whenPasscodeSetThisDeviceOnly) }
}

/// The code of the keychain error that `body` throws, or `nil`.
func code(_ body: () throws -> Void) -> KeychainError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeychainError)?.code
    }
}

@Suite struct `Controls of a test keychain` {
    let test = TestKeychain()
    let keychain: Keychain

    init() {
        keychain = Keychain(service: "com.example.app", in: test.database)
    }

    @Test func `a test keychain starts empty, unlocked and without a passcode`() throws {
        #expect(try test.items().isEmpty)
        let status = try test.database.status()
        #expect(status.lockState == .unlocked)
        #expect(!status.hasPasscode)
        #expect(status.itemCount == 0)
        #expect(test.accessGroups == ["default"])
        #expect(test.now == nil)
        #expect(try keychain.load(.token) == nil)
    }

    @Test func `two test keychains are separate`() throws {
        let other = Keychain(service: "com.example.app", in: TestKeychain().database)
        try keychain.save("mine", for: .token)
        #expect(try other.load(.token) == nil)
        try other.save("theirs", for: .token)
        #expect(try keychain.load(.token) == "mine")
    }

    @Test func `a KeychainDatabase keeps its test keychain alive`() throws {
        let kept = Keychain(service: "s", in: TestKeychain().database)
        try kept.save("x", for: .token)
        #expect(try kept.load(.token) == "x")
    }

    // MARK: Lock

    @Test
    func `locking sets a passcode if there is none, and makes when-unlocked items unreadable`()
        throws
    {
        try keychain.save("1234", for: .pin)
        try keychain.save("abc", for: .token)
        try test.lock()
        #expect(try test.lockState == .locked)
        #expect(try test.database.status().hasPasscode)
        #expect(code { _ = try keychain.load(.pin) } == .interactionNotAllowed)
        #expect(code { try keychain.save("5678", for: .pin) } == .interactionNotAllowed)
        #expect(code { _ = try test.items() } == .interactionNotAllowed)
        #expect(try keychain.load(.token) == "abc")
        try test.unlock()
        #expect(try test.lockState == .unlocked)
        #expect(try keychain.load(.pin) == "1234")
        try test.database.lock()
        try test.database.unlock(passcode: TestKeychain.defaultPasscode)
    }

    @Test func `after a restart with a passcode everything is locked until the first unlock`()
        throws
    {
        try keychain.save("abc", for: .token)
        try test.setPasscode("1234")
        #expect(try test.lockState == .unlocked)
        try test.restart()
        #expect(try test.lockState == .beforeFirstUnlock)
        #expect(code { _ = try keychain.load(.token) } == .interactionNotAllowed)
        try test.lock()
        #expect(try test.lockState == .beforeFirstUnlock)
        try test.unlock()
        #expect(try keychain.load(.token) == "abc")
        try test.lock()
        #expect(try keychain.load(.token) == "abc")
    }

    @Test func `after a restart without a passcode everything is readable`() throws {
        try keychain.save("1234", for: .pin)
        try test.restart()
        #expect(try test.lockState == .unlocked)
        #expect(try keychain.load(.pin) == "1234")
        try test.unlock()
    }

    @Test func `the passcode can be set, changed and removed`() throws {
        #expect(code { try keychain.save("x", for: .vault) } == .authFailed)
        #expect(code { try test.setPasscode("") } == .param)
        #expect(code { try test.removePasscode() } == .param)
        try test.setPasscode("1234")
        try keychain.save("x", for: .vault)
        try test.setPasscode("5678")
        try test.lock()
        #expect(code { try test.database.unlock(passcode: "1234") } == .authFailed)
        try test.database.unlock(passcode: "5678")
        #expect(try keychain.load(.vault) == "x")
        #expect(try test.removePasscode() == 1)
        #expect(try test.items().isEmpty)
    }

    @Test func `after a passcode change through KeychainDatabase, only the new passcode unlocks`()
        throws
    {
        try test.setPasscode("1234")
        try test.database.changePasscode(from: "1234", to: "5678")
        try test.lock()
        #expect(code { try test.unlock() } == .authFailed)
        #expect(code { try test.setPasscode("9") } == .authFailed)
        try test.database.unlock(passcode: "5678")
        #expect(try test.lockState == .unlocked)
    }

    // MARK: Clock and access groups

    @Test func `items are dated by the clock that the test sets`() throws {
        let start = Date(timeIntervalSinceReferenceDate: 1000)
        test.now = start
        try keychain.save("1", for: .token)
        test.now = start + 60
        try keychain.save("2", for: .token)
        let item = try #require(try keychain.item(.token))
        #expect(item.creationDate == start)
        #expect(item.modificationDate == start + 60)
        try keychain.save("3", for: .token)
        let later = try #require(try keychain.item(.token)?.modificationDate)
        #expect(later > start + 60 && later < start + 61)
        try test.restart()
        try keychain.save("x", for: .pin)
        #expect(try keychain.item(.pin)?.creationDate == start + 60)

        test.now = nil
        let before = Date()
        try keychain.save("x", for: KeychainKey("now"))
        let made = try #require(try keychain.item(.account("now"))?.creationDate)
        #expect(made > before - 1 && made < Date() + 1)
    }

    @Test func `access groups determine which items are visible and where new items go`() throws {
        test.accessGroups = ["TEAM.app", "TEAM.shared"]
        let shared = Keychain(
            service: "com.example.app", accessGroup: "TEAM.shared", in: test.database)
        try keychain.save("own", for: .token)
        try shared.save("for all", for: .pin)
        #expect(try keychain.item(.token)?.accessGroup == "TEAM.app")

        test.accessGroups = ["OTHER.app", "TEAM.shared"]
        #expect(try keychain.load(.token) == nil)
        #expect(try keychain.load(.pin) == "for all")
        test.accessGroups = ["OTHER.app"]
        #expect(code { _ = try shared.load(.pin) } == .missingEntitlement)
        test.accessGroups = []
        #expect(code { _ = try keychain.load(.token) } == .missingEntitlement)
        #expect(code { try keychain.save("x", for: .token) } == .missingEntitlement)
        #expect(code { _ = try keychain.delete(.token) } == .missingEntitlement)

        let items = try test.items()
        #expect(items.map(\.accessGroup) == ["TEAM.app", "TEAM.shared"])
    }

    // MARK: Looking inside

    @Test func `a test can list items with their attributes, without decrypting secrets`() throws {
        try keychain.save("1234", for: .pin)
        try test.withSecItem {
            let query: [CFString: Any] = [
                kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.org",
                kSecAttrAccount: "alice", kSecAttrSynchronizable: true,
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
                kSecValueData: Data("secret".utf8),
            ]
            try #require(SecItemAdd(query as CFDictionary, nil) == errSecSuccess)
        }
        let items = try test.items()
        #expect(items.map(\.itemClass) == ["genp", "inet"])
        #expect(items.map(\.service) == ["com.example.app", "example.org"])
        #expect(items.map(\.account) == ["pin", "alice"])
        #expect(items.map(\.label) == ["PIN", nil])
        #expect(items.map(\.accessGroup) == ["default", "default"])
        #expect(items.map(\.accessibility) == [.whenUnlocked, .afterFirstUnlock])
        #expect(items.map(\.isSynchronizable) == [false, true])
        #expect(test.openedSecretCount == 0)
        #expect(try keychain.items().count == 1)
        #expect(test.openedSecretCount == 0)
        _ = try keychain.load(.pin)
        #expect(test.openedSecretCount == 1)
        try test.restart()
        _ = try keychain.load(.pin)
        #expect(test.openedSecretCount == 2)
    }

    @Test func `the SecItem functions use the test keychain of the innermost closure`() throws {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "com.example.app",
            kSecAttrAccount: "token",
        ]
        try keychain.save("abc", for: .token)
        #expect(
            test.withSecItem { SecItemCopyMatching(query as CFDictionary, nil) } == errSecSuccess)
        let other = TestKeychain()
        test.withSecItem {
            #expect(
                other.withSecItem { SecItemCopyMatching(query as CFDictionary, nil) }
                    == errSecItemNotFound)
            #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecSuccess)
        }
        test.accessGroups = []
        #expect(
            test.withSecItem { SecItemCopyMatching(query as CFDictionary, nil) }
                == errSecMissingEntitlement)
    }

    @Test func `asynchronous code uses the test keychain before and after a suspension`()
        async throws
    {
        try await keychain.save("abc", for: .token)
        let test = test
        let statuses = await test.withSecItem {
            func search() -> OSStatus {
                let query: [CFString: Any] = [
                    kSecClass: kSecClassGenericPassword, kSecAttrService: "com.example.app",
                    kSecAttrAccount: "token",
                ]
                return SecItemCopyMatching(query as CFDictionary, nil)
            }
            let first = search()
            await Task.yield()
            async let child = search()
            return [first, search(), await child]
        }
        #expect(statuses == [errSecSuccess, errSecSuccess, errSecSuccess])
    }

    // MARK: Size, concurrency, and separation

    @Test func `a value of many megabytes round-trips unchanged`() throws {
        // The value has 256 parts. Each part ends with its number.
        let part = Data((0..<65_535).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let value = (0..<256).reduce(into: Data()) { data, number in
            data.append(part)
            data.append(UInt8(number))
        }
        try keychain.save(value, for: KeychainKey("big"))
        #expect(try keychain.load(KeychainKey<Data>("big")) == value)
        test.inject(.stop(.beforeCommit))
        #expect(code { try keychain.save(value.dropFirst(1), for: KeychainKey("big")) } == .ioError)
        test.removeFaults()
        #expect(try keychain.load(KeychainKey<Data>("big")) == value)
        #expect(try test.database.check().isSound)
    }

    @Test func `concurrent writes aren't lost while the keychain is locked and unlocked`()
        async throws
    {
        let test = test
        let keychain = keychain
        let count = KeychainKey<Int>("count", accessibility: .afterFirstUnlock)
        try test.setPasscode("1234")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask {
                    for round in 0..<10 {
                        try await keychain.update(count) { $0 = ($0 ?? 0) + 1 }
                        try await keychain.save("\(number)", for: KeychainKey("\(number) \(round)"))
                        _ = try await keychain.items()
                    }
                }
            }
            group.addTask {
                for _ in 0..<20 {
                    try test.lock()
                    try await test.database.unlock(passcode: "1234")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await keychain.load(count) == 160)
        #expect(try test.items().count == 161)
        #expect(try await test.database.check().isSound)
    }

    @Test(arguments: 0..<16)
    func `several test keychains can be used in parallel`(number: Int) throws {
        for round in 0..<10 {
            try keychain.save("\(number)", for: KeychainKey("\(round)"))
            if round == 5 { try test.restart() }
        }
        #expect(try test.items().count == 10)
        #expect(
            try (0..<10).allSatisfy {
                try keychain.load(KeychainKey<String>("\($0)")) == "\(number)"
            })
    }
}
