// CleanKeychain: a separate keychain for each test, the cleanup of the test service, and other code
// that the tests share.

import Foundation
import KeychainTesting
import Security
import Testing

@testable import TVRemote

/// The service of values that tests save.
let testService = "com.DaraConsultingInc.LGTVRemoteWidget.test"

extension TestKeychain {
    /// The keychain of the running test.
    @TaskLocal static var current = TestKeychain()

    /// Deletes every item of the test service.
    func cleanUp() throws {
        removeFaults()
        try unlock()
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: testService,
            kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
            kSecUseDataProtectionKeychain as String: true,
        ]
        let status = withSecItem { SecItemDelete(query as CFDictionary) }
        #expect(status == errSecSuccess || status == errSecItemNotFound)
        #expect(try !items().contains { $0.service == testService })
    }
}

/// Runs each test with a new keychain for the SecItem functions, and cleans up after it.
struct CleanKeychain: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let keychain = TestKeychain()
        let outcome: Result<Void, any Error> = await TestKeychain.$current.withValue(keychain) {
            await keychain.withSecItem {
                do { return .success(try await function()) } catch { return .failure(error) }
            }
        }
        // An error of the test itself is reported rather than one of the cleanup.
        let cleanup = Result { try keychain.cleanUp() }
        try outcome.get()
        try cleanup.get()
    }
}

extension Trait where Self == CleanKeychain {
    static var cleanKeychain: Self { Self() }
}

extension TVCredentials {
    static let paired = TVCredentials(
        ipAddress: "10.0.0.14", macAddress: "34:E6:E6:F9:05:50",
        clientKey: "9ba71d29c353cf0bdcc00c4b0a8cc189")
    static let unpaired = TVCredentials(
        ipAddress: "10.0.0.14", macAddress: "34:E6:E6:F9:05:50")
}

/// Waits until a condition holds. After a minute without success, the test fails.
func waitUntil(
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) async {
    let end = ContinuousClock.now + .seconds(60)
    while !condition(), ContinuousClock.now < end { await Task.yield() }
    #expect(condition(), sourceLocation: sourceLocation)
}

/// The status of the keychain error that the closure throws, or `nil` if it throws none.
func status(_ body: () throws -> Void) -> OSStatus? {
    do {
        try body()
    } catch KeychainError.unexpectedStatus(let status) {
        return status
    } catch {
        Issue.record("\(type(of: error))")
    }
    return nil
}

/// The status of the keychain error that the closure throws, or `nil` if it throws none.
func status(_ body: () async throws -> Void) async -> OSStatus? {
    do {
        try await body()
    } catch KeychainError.unexpectedStatus(let status) {
        return status
    } catch {
        Issue.record("\(type(of: error))")
    }
    return nil
}

/// Adds an item of the test service without the manager.
func addItem(_ attributes: [String: Any]) -> OSStatus {
    let item: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: testService,
        kSecUseDataProtectionKeychain as String: true,
    ]
    return SecItemAdd(item.merging(attributes) { $1 } as CFDictionary, nil)
}
