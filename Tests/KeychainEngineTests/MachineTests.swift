// Ways into a keychain, and keychains that are bound to a machine.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct MachineTests {
    private func options(
        _ identity: String?, credential: String? = nil, chip: (any KeyHardware)? = nil
    ) -> EngineOptions {
        var options = EngineOptions.testing
        options.machine = Machine(identity: identity.map { passcode($0) }, chip: chip)
        let secret = credential.map { passcode($0) }
        options.credential = { secret }
        return options
    }

    private func engine(
        _ keychain: TemporaryKeychain, on identity: String?, credential: String? = nil
    ) throws -> KeychainEngine {
        keychain.engine.close()
        return try KeychainEngine.open(
            directory: keychain.directory, options: options(identity, credential: credential))
    }

    private func add(
        _ account: String, _ protection: ProtectionClass, to engine: KeychainEngine
    ) throws {
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: protection, data: Data(account.utf8))),
            as: AccessGroups(["G1", "G2"]))
    }

    private func secrets(_ engine: KeychainEngine, _ account: String? = nil) throws -> [String] {
        let attributes: Attributes = account.map { [.account: .string($0)] } ?? [:]
        return try engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: attributes),
                Retrieval(limit: nil, includesData: true)), as: AccessGroups(["G1", "G2"])
        ).map { String(decoding: $0.data ?? Data(), as: UTF8.self) }
    }

    private func failure(_ body: () throws -> Void) -> KeychainFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? KeychainFailure
        }
    }

    /// One item of each protection class, except the class that requires a passcode, on the machine
    /// "here".
    private func filled() throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain(options: options("here"))
        for protection in ProtectionClass.allCases where protection.rawValue < 12 {
            try add(protection.code, protection, to: keychain.engine)
        }
        return keychain
    }

    private static let moving = ["ak", "ck", "dk"]
    private static let staying = ["aku", "cku", "dku"]

    @Test(arguments: ["there", nil])
    func `on another machine all items except this-device-only ones can be read`(
        identity: String?
    ) throws {
        let keychain = try filled()
        #expect(try keychain.engine.status().machine == .thisMachine)
        let moved = try engine(keychain, on: identity)
        #expect(try secrets(moved) == Self.moving)
        for name in Self.staying {
            let refusal = failure { _ = try secrets(moved, name) }
            #expect(refusal?.cause == .otherMachine)
            #expect(refusal?.reason.contains("3 device-only items") == true)
            #expect(refusal?.reason.contains("recovery code") == true)
        }
        // Unreadable items are told apart from absent items and aren't overwritten. Items that
        // aren't this-device-only can be added.
        #expect(failure { _ = try secrets(moved, "absent") }?.status == .itemNotFound)
        #expect(failure { try add("aku", .whenUnlocked, to: moved) }?.status == .duplicateItem)
        #expect(
            failure { try add("new", .whenUnlockedThisDeviceOnly, to: moved) }?.cause
                == .otherMachine)
        try add("new", .whenUnlocked, to: moved)
        let status = try moved.status()
        #expect(status.machine == (identity == nil ? .unreachable : .otherMachine))
        #expect(status.deviceItemCount == 3)
        moved.close()
        // Nothing was deleted.
        let back = try engine(keychain, on: "here")
        #expect(Set(try secrets(back)) == Set(Self.moving + Self.staying + ["new"]))
        #expect(try back.check(settingAside: false).isSound)
        back.close()
    }

    @Test func `on another machine removing the passcode fails and sets no item aside`() throws {
        let keychain = try filled()
        try keychain.engine.setPasscode(passcode("1234"))
        try add("akpu", .whenPasscodeSetThisDeviceOnly, to: keychain.engine)
        let moved = try engine(keychain, on: "there")
        try moved.unlock(passcode: passcode("1234"))
        #expect(failure { try moved.removePasscode(passcode("1234")) }?.cause == .otherMachine)
        #expect(try moved.setAsideRows().isEmpty)
        moved.close()
        let back = try engine(keychain, on: "here")
        try back.unlock(passcode: passcode("1234"))
        #expect(Set(try secrets(back)) == Set(Self.moving + Self.staying + ["akpu"]))
        #expect(try back.removePasscode(passcode("1234")) == 1)
        #expect(try back.setAsideRows().isEmpty)
        back.close()
    }

    @Test
    func `an unreadable item is deleted only if the index alone shows that the query matches it`()
        throws
    {
        let keychain = try filled()
        let moved = try engine(keychain, on: "there")
        let caller = AccessGroups(["G1", "G2"])
        func delete(_ attributes: Attributes) throws -> Int {
            try moved.perform(
                DeleteItems(
                    ItemQuery(itemClass: .genericPassword, attributes: attributes),
                    tombstones: .never), as: caller)
        }
        // The blind index doesn't contain an item's description.
        let refusal = failure {
            _ = try delete([.account: .string("dku"), .description: .string("x")])
        }
        #expect(refusal?.status == .itemNotFound)
        #expect(try delete([.account: .string("cku")]) == 1)
        moved.close()
        let back = try engine(keychain, on: "here")
        #expect(Set(try secrets(back)) == Set(Self.moving + ["aku", "dku"]))
        back.close()
    }

    @Test
    func `a recovery on another machine keeps one of two items with the same primary key`() throws {
        let keychain = try TemporaryKeychain(options: options("here"))
        let query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a"))
        try add("a", .alwaysThisDeviceOnly, to: keychain.engine)
        let row = try #require(try keychain.rows(query).first)
        _ = try keychain.engine.perform(DeleteItems(query, tombstones: .never), as: keychain.caller)
        try add("a", .whenUnlocked, to: keychain.engine)
        // This write puts the deleted row of the open tier back. In the table, the row then follows
        // the item of the guarded tier.
        let store = keychain.engine.store
        _ = try store.write(keybagGeneration: store.header().keybagGeneration) {
            transaction throws(KeychainFailure) in try transaction.insert(row)
        }
        #expect(try keychain.rows(query).count == 2)
        keychain.engine.close()
        // On the machine "there", only the labels of the row are known.
        let report = try KeychainEngine.recover(
            directory: keychain.directory, options: options("there"))
        #expect(report.itemCount == 1 && !report.isComplete)
        #expect(report.doubtfulItems == [row.reference])
    }

    @Test
    func `without the passcode, a recovery code opens this-device-only items on another machine`()
        throws
    {
        let keychain = try filled()
        let code = RecoveryCode.random().bytes
        try keychain.engine.setPasscode(passcode("forgotten"))
        #expect(try !keychain.engine.status().hasRecoveryCode)
        try keychain.engine.perform(
            ChangeSlots(.add(.recoveryCode(code)), provedBy: .passcode(passcode("forgotten"))),
            as: keychain.caller)
        #expect(try keychain.engine.status().hasRecoveryCode)
        try add("akpu", .whenPasscodeSetThisDeviceOnly, to: keychain.engine)
        let all = Set(Self.moving + Self.staying + ["akpu"])
        // The code opens everything, although the machine "there" has another identity.
        let opened = try engine(keychain, on: "there")
        try opened.perform(UnlockWith(.recoveryCode(code)), as: keychain.caller)
        #expect(Set(try secrets(opened)) == all)
        try opened.lock()
        try opened.unlock(passcode: passcode("forgotten"))
        #expect(failure { _ = try secrets(opened, "aku") }?.cause == .otherMachine)
        opened.close()
        let moved = try engine(keychain, on: "there")
        let caller = keychain.caller
        #expect(
            failure {
                _ = try moved.perform(
                    ChangeSlots(
                        .bind, provedBy: .recoveryCode(RecoveryCode.random().bytes)), as: caller)
            }?.status == .authFailed)
        try moved.perform(ChangeSlots(.bind, provedBy: .recoveryCode(code)), as: caller)
        #expect(try moved.status().machine == .thisMachine)
        #expect(Set(try secrets(moved)) == all)
        try moved.perform(
            ChangeSlots(
                .add(.passcode(passcode("a new one"))), provedBy: .recoveryCode(code)), as: caller)
        moved.close()
        let again = try engine(keychain, on: "there")
        try again.unlock(passcode: passcode("a new one"))
        #expect(Set(try secrets(again)) == all)
        again.close()
    }

    @Test(arguments: [false, true])
    func `a recovery code unbinds this-device-only items on a machine without an identity`(
        hasPasscode: Bool
    ) throws {
        let keychain = try filled()
        let code = RecoveryCode.random().bytes
        let caller = keychain.caller
        if hasPasscode { try keychain.engine.setPasscode(passcode("known")) }
        try keychain.engine.perform(
            ChangeSlots(
                .add(.recoveryCode(code)),
                provedBy: hasPasscode ? .passcode(passcode("known")) : nil), as: caller)
        let all = Set(Self.moving + Self.staying)
        let moved = try engine(keychain, on: nil)
        if hasPasscode {
            try moved.perform(UnlockWith(.recoveryCode(code)), as: caller)
            #expect(Set(try secrets(moved)) == all)
            // After `lockAll`, the passcode doesn't open the this-device-only items that the code
            // had opened, not even the always-available one.
            try moved.lockAll()
            try moved.unlock(passcode: passcode("known"))
            #expect(Set(try secrets(moved)) == Set(Self.moving))
        } else {
            #expect(
                failure { try moved.rotate(provedBy: .recoveryCode(code)) }?.cause == .otherMachine)
        }
        #expect(
            failure {
                _ = try moved.perform(
                    ChangeSlots(.unbind, provedBy: .recoveryCode(RecoveryCode.random().bytes)),
                    as: caller)
            }?.status == .authFailed)
        try moved.perform(ChangeSlots(.unbind, provedBy: .recoveryCode(code)), as: caller)
        moved.close()
        let free = try engine(keychain, on: "there")
        if hasPasscode { try free.unlock(passcode: passcode("known")) }
        #expect(try free.status().machine == .notBound)
        #expect(Set(try secrets(free)) == all)
        free.close()
    }

    @Test func `a keychain can be bound to a machine and unbound again`() throws {
        let keychain = try TemporaryKeychain(options: options(nil))
        try add("item", .whenUnlockedThisDeviceOnly, to: keychain.engine)
        let caller = keychain.caller
        #expect(try keychain.engine.status().machine == .notBound)
        #expect(
            failure {
                _ = try keychain.engine.perform(ChangeSlots(.bind), as: caller)
            }?.status == .param)
        let here = try engine(keychain, on: "here")
        #expect(try here.status().machine == .notBound)
        try here.perform(ChangeSlots(.bind), as: caller)
        #expect(try secrets(here) == ["item"])
        here.close()
        let there = try engine(keychain, on: "there")
        #expect(failure { _ = try secrets(there) }?.cause == .otherMachine)
        there.close()
        let back = try engine(keychain, on: "here")
        try back.perform(ChangeSlots(.unbind), as: caller)
        back.close()
        let free = try engine(keychain, on: "there")
        #expect(try secrets(free) == ["item"])
        free.close()
    }

    @Test func `an open engine notices that another process bound the keychain`() throws {
        let keychain = try TemporaryKeychain(options: options("here"))
        let other = try KeychainEngine.open(
            directory: keychain.directory, options: options("here"))
        defer { other.close() }
        let caller = keychain.caller
        try add("item", .alwaysThisDeviceOnly, to: other)
        try keychain.engine.perform(ChangeSlots(.unbind), as: caller)
        #expect(try other.status().machine == .notBound)
        try keychain.engine.perform(ChangeSlots(.bind), as: caller)
        #expect(try other.status().machine == .thisMachine)
        try add("another", .whenUnlockedThisDeviceOnly, to: other)
        #expect(try secrets(keychain.engine) == ["item", "another"])
    }

    @Test func `after the keychain is opened, the chip doesn't unseal the key slot again`() throws {
        let chip = SoftwareChip()
        let keychain = try TemporaryKeychain(options: options("here", chip: chip))
        try add("item", .whenUnlockedThisDeviceOnly, to: keychain.engine)
        try keychain.reopen()
        let before = chip.unsealedCount
        for _ in 0..<5 { _ = try keychain.engine.status() }
        #expect(chip.unsealedCount == before)
        #expect(try secrets(keychain.engine) == ["item"])
        let moved = try engine(keychain, on: "here")
        #expect(try moved.status().machine == .unreachable)
        moved.close()
    }

    @Test func `a server unlocks with its credential, without user interaction`() throws {
        let keychain = try filled()
        let secret = "0123456789abcdef"
        try keychain.engine.perform(
            ChangeSlots(.add(.credential(passcode(secret)))), as: keychain.caller)
        let locked = try engine(keychain, on: "here", credential: "another secret !")
        #expect(locked.lockState == .beforeFirstUnlock)
        #expect(failure { _ = try secrets(locked, "aku") }?.status == .interactionNotAllowed)
        locked.close()
        let open = try engine(keychain, on: "here", credential: secret)
        #expect(open.lockState == .unlocked)
        #expect(Set(try secrets(open)) == Set(Self.moving + Self.staying))
        let slots = try open.perform(ListSlots(), as: keychain.caller)
        #expect(slots.map(\.kind) == [.machineIdentity, .credential])
        // Such a keychain has no passcode that a user could be asked for.
        #expect(try !open.perform(HasPasscode(), as: keychain.caller))
        #expect(
            failure {
                _ = try open.perform(Authenticate(passcode: passcode("x")), as: keychain.caller)
            }?.status == .notAvailable)
        #expect(
            failure {
                _ = try open.perform(ChangeSlots(.remove(2)), as: keychain.caller)
            }?.reason.contains("only remaining way in") == true)
        open.close()
    }

    @Test func `a key slot can't be removed while the keychain is locked`() throws {
        let keychain = try TemporaryKeychain(options: options("here"))
        let caller = keychain.caller
        try keychain.engine.setPasscode(passcode("open"))
        try keychain.engine.perform(
            ChangeSlots(
                .add(.credential(passcode("0123456789abcdef"))),
                provedBy: .passcode(passcode("open"))),
            as: caller)
        try add("item", .whenPasscodeSetThisDeviceOnly, to: keychain.engine)
        try keychain.engine.lock()
        #expect(
            failure { _ = try keychain.engine.perform(ChangeSlots(.remove(3)), as: caller) }?
                .status == .interactionNotAllowed)
        try keychain.engine.unlock(passcode: passcode("open"))
        try keychain.engine.perform(ChangeSlots(.remove(3)), as: caller)
        // Removing a slot changes no key and locks nothing.
        #expect(try secrets(keychain.engine) == ["item"])
    }

    @Test func `a weak passcode is refused unless explicitly allowed`() throws {
        var options = EngineOptions.testing
        options.passcodePolicy = .floor
        let keychain = try TemporaryKeychain(options: options)
        let caller = keychain.caller
        let requests: [any Request] = [
            SetPasscode(passcode("short")), ChangeSlots(.add(.passcode(passcode("short")))),
        ]
        for request in requests {
            #expect(
                failure { _ = try keychain.engine.perform(request, as: caller) }?.status == .param)
        }
        #expect(!keychain.engine.hasPasscode)
        try keychain.engine.perform(SetPasscode(passcode("correct horse")), as: caller)
        #expect(
            failure {
                _ = try keychain.engine.perform(
                    ChangePasscode(from: passcode("correct horse"), to: passcode("short")),
                    as: caller)
            }?.status == .param)
        try keychain.engine.perform(
            ChangePasscode(
                from: passcode("correct horse"), to: passcode("short"), allowsWeak: true),
            as: caller)
        try keychain.reopen()
        try keychain.engine.unlock(passcode: passcode("short"))
    }
}
