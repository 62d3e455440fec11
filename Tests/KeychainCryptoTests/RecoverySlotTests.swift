// What a recovery code opens on another machine, and if a part of its key slot is invalid.

import KeychainCore
import Testing

@testable import KeychainCrypto

private func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8)) }

private let deviceKey = SecretBytes(copying: Array(0..<32))
private let passcode = secret("correct horse")
private let code = secret("sixteen bytes ..")
private let here = Machine(identity: secret("this machine ..."))
private let there = Machine(identity: secret("another machine."))

/// A keybag with a passcode and a recovery code. It is bound to the machine if the machine has an
/// identity.
private func full(_ machine: Machine = .unidentified) throws -> KeyHierarchy {
    try KeyHierarchy.create(deviceKey: deviceKey, machine: machine, at: 1)
        .settingPasscode(
            passcode, cost: PasscodeCost(logN: 1, blockSize: 1, parallelism: 1), at: 2
        )
        .adding(.recoveryCode(code), provedBy: .passcode(passcode), at: 3)
}

private func reopened(_ hierarchy: KeyHierarchy, on machine: Machine) throws -> KeyHierarchy {
    try KeyHierarchy(Keybag.parse(hierarchy.encoded), deviceKey: deviceKey, machine: machine)
}

@Suite struct RecoverySlotTests {
    @Test func `if part of its key slot is invalid, a recovery code is refused like a wrong code`()
        throws
    {
        let bytes = try full(here).encoded
        // The slot of the recovery code follows the keybag's head (40 bytes), the machine's slot
        // (92 bytes) and the passcode's slot (96 bytes). After its own head (32 bytes), it contains
        // two boxes of 60 bytes, each with a sealed key.
        let boxes = 40 + 92 + 96 + 32
        for box in 0..<2 {
            let changed = retagged(bytes) { $0[boxes + 60 * box + 59] ^= 1 }
            for machine in [here, there] {
                let hierarchy = try KeyHierarchy(
                    Keybag.parse(changed), deviceKey: deviceKey, machine: machine)
                do {
                    _ = try hierarchy.unlock(.recoveryCode(code))
                    Issue.record("the recovery code was accepted with a changed box \(box)")
                } catch {
                    #expect(error.status == .authFailed)
                }
                #expect(throws: Never.self) { try hierarchy.unlock(.passcode(passcode)) }
            }
        }
        #expect(throws: Never.self) {
            try reopened(full(here), on: there).unlock(.recoveryCode(code))
        }
    }

    @Test
    func `a recovery code made before binding opens no this-device-only keys on another machine`()
        throws
    {
        let bound = try reopened(full(), on: here)
            .binding(provedBy: .passcode(passcode), at: 5)
        let moved = try reopened(bound, on: there)
        let opened = try moved.unlock(.recoveryCode(code))
        #expect(Set(opened.keys.classes.keys) == [.whenUnlocked, .afterFirstUnlock])
        #expect(opened.openClasses.isEmpty)
        #expect(throws: KeychainFailure.self) { try moved.rebinding(with: code, at: 0) }
        #expect(
            try reopened(bound, on: here).unlock(.recoveryCode(code)).keys.classes.count == 5)
    }
}
