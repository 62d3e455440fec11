// AccessControlMigrationTests: items that have an access control are migrated through the system's
// functions, which return an access control as an opaque object.

import Foundation
import KeychainCore
import StandIn
import Testing

@testable import Keychain

@Suite struct `Migration of an access control by the system's functions` {
    private let test: TestDatabase
    private let source: Keychain
    /// The destinations: the same service with another accessibility, and another service.
    private let places: [Keychain]

    init() throws {
        test = try TestDatabase(.secItem)
        // `lock()` sets a passcode.
        try test.lock()
        try test.unlock()
        test.system.setOwnerIsPresent(true)
        source = test.keychain()
        places = [
            test.keychain(accessibility: .whenUnlockedThisDeviceOnly),
            test.keychain("com.example.new"),
        ]
    }

    @Test func `a migration keeps a known access control, in the same service and in another`()
        throws
    {
        let controls: [Keychain.AccessControl] = [.userPresence, .devicePasscode]
        for (account, control) in zip(["0", "1"], controls) {
            try source.save("secret", for: KeychainKey(account, accessControl: control))
        }
        for place in places {
            #expect(try place.migrateAll(from: source).isComplete)
            for (account, control) in zip(["0", "1"], controls) {
                let key = KeychainKey<String>(account)
                #expect(try place.item(key)?.accessControl == control)
                #expect(try place.load(key) == "secret")
                let error = failure { _ = try place.withoutInteraction.load(key) }
                #expect(error?.code == .interactionNotAllowed)
            }
        }
        #expect(try source.items().isEmpty)
    }

    @Test
    func `an item with unidentifiable constraints migrates only if the key has an access control`()
        throws
    {
        let unknown = Keychain.AccessControl([.biometryAny, .devicePasscode, .or])
        try source.save("guarded", for: KeychainKey("guarded", accessControl: unknown))
        let before = try source.items()
        for place in places {
            let report = try place.migrateAll(from: source)
            #expect(report.records.map(\.outcome) == [.failed])
            #expect(report.records[0].error?.code == .unimplemented)
            #expect(report.records[0].error?.failureReason?.contains("with a key") == true)
            #expect(try source.items() == before)
        }
        #expect(try places[1].items().isEmpty)
        // On Apple's systems, even an item without constraints has an access control, which differs
        // from every access control that `Keychain` creates. `open` also differs from all of these,
        // so it stands for the access control of such an item.
        let open = Keychain.AccessControl(.and)
        try source.save("open", for: KeychainKey("open", accessControl: open))
        #expect(try places[1].migrate(KeychainKey<String>("open"), from: source) == .migrated)
        let key = KeychainKey<String>("guarded", accessControl: .userPresence)
        #expect(try places[1].migrate(key, from: source) == .migrated)
        #expect(try places[1].item(key)?.accessControl == .userPresence)
        #expect(try source.items().isEmpty)
    }
}
