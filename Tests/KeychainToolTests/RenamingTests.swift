// The effects of `rename` and `label` on items, as seen by the engine.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import KeychainCore
import Testing

@testable import KeychainTool

@Suite struct `Renaming an item` {
    private func engine(_ home: TestHome) throws -> KeychainEngine {
        try GuardedItems.add(to: home)
        return try KeychainEngine.open(
            directory: home.path + "/.local/share/keychain", options: .testing)
    }

    private func session(_ engine: KeychainEngine) -> KeychainSession {
        KeychainSession(
            PasscodeSource(mayAsk: false),
            OpenedKeychain(keychain: .engine(engine), groups: AccessGroups(["default"])))
    }

    private func query(_ service: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword, attributes: [.service: .string(service)],
            isSynchronizable: nil)
    }

    @Test func `renaming decrypts no secret, but fails without a prompt if presence is required`()
        throws
    {
        let home = try TestHome()
        let engine = try engine(home)
        defer { engine.close() }
        try engine.perform(
            Unlock(passcode: SecretBytes(copying: Array(GuardedItems.passcode.utf8))))
        let session = session(engine)
        let add = NewItem(
            itemClass: .genericPassword, attributes: [.service: .string("plain")],
            protection: .alwaysThisDeviceOnly, data: Data("x".utf8))
        _ = try engine.perform(AddItem(add), as: AccessGroups(["default"]))
        let plain = try session.findOne([query("plain")])
        try session.change(plain, to: ItemChanges(attributes: [.service: .string("other")]))
        try session.change(plain, to: ItemChanges(attributes: [.label: .string("A name")]))
        #expect(engine.openedSecretCount == 0)
        #expect(try session.findOne([query("other")]).attributes[.label] == .string("A name"))
        #expect(try session.findOne([query("other")], includesData: true).data == Data("x".utf8))
        #expect(engine.openedSecretCount == 1)

        let bank = try session.findOne([query("bank")])
        #expect(bank.constraints == .userPresence)
        let failure = #expect(throws: ControlFailure.self) {
            try session.change(bank, to: ItemChanges(attributes: [.service: .string("savings")]))
        }
        #expect(failure?.status == .locked)
        #expect(engine.openedSecretCount == 1)
    }
}
