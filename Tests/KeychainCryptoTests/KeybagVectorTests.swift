// The vectors of Documentation/Formats/keybag-v2.md, which a writer in Python made that shares
// nothing with this implementation.

import FormatVectors
import KeychainCore
import KeychainCrypto
import Testing

private struct KeybagVector2: FormatVector {
    struct Opened: Codable, Hashable {
        struct Tier: Codable, Hashable {
            struct Class: Codable, Hashable {
                var protection: UInt8
                var classKey: Hex
                var metadataKey: Hex
            }

            var indexKey: Hex
            var integrityKey: Hex
            var classes: [Class]

            init(_ keys: TierKeys) {
                indexKey = Hex(keys.indexKey)
                integrityKey = Hex(keys.integrityKey)
                classes = keys.classes.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                    Class(
                        protection: $0.key.rawValue, classKey: Hex($0.value.classKey),
                        metadataKey: Hex($0.value.metadataKey))
                }
            }
        }

        var keychainID: Hex
        var generation: UInt64
        var machine: String
        var open: Tier
        var guarded: Tier?
    }

    var tcId: Int
    var comment: String
    var flags: [String]
    var result: VectorResult
    var deviceKey: Hex
    var keybag: Hex
    var passcode: Hex?
    var recoveryCode: Hex?
    var credential: Hex?
    var machine: Hex?
    var failure: KeybagVector.Failure?
    var opened: Opened?

    var way: WayIn? {
        passcode.map { .passcode($0.secret) } ?? recoveryCode.map { .recoveryCode($0.secret) }
            ?? credential.map { .credential($0.secret) }
    }
}

@Suite struct `Vectors of keybags of version 2` {
    @Test func `keybags`() throws {
        let file = try VectorFile<KeybagVector2>.read("keybag-v2")
        #expect(file.version == 2)
        var count = 0
        for test in file.tests {
            count += 1
            let (opened, failure) = open(test)
            #expect(failure == test.failure, "test \(test.tcId): \(test.comment)")
            #expect(opened == test.opened, "test \(test.tcId): \(test.comment)")
        }
        #expect(count == 111)
    }

    private func open(
        _ test: KeybagVector2
    ) -> (KeybagVector2.Opened?, KeybagVector.Failure?) {
        let keybag: Keybag
        do throws(KeychainFailure) {
            keybag = try Keybag.parse(test.keybag.bytes)
        } catch {
            return (nil, error.status == .wrongVersion ? .newerVersion : .malformed)
        }
        let machine = Machine(identity: test.machine?.secret)
        guard
            let hierarchy = try? KeyHierarchy(
                keybag, deviceKey: test.deviceKey.secret, machine: machine)
        else { return (nil, .inauthentic) }
        #expect(hierarchy.encoded == test.keybag.bytes, "test \(test.tcId)")
        do throws(KeychainFailure) {
            let unlocked = try test.way.map { way throws(KeychainFailure) in
                try hierarchy.unlock(way)
            }
            var guarded = unlocked?.keys
            if unlocked == nil { guarded = try hierarchy.guardedTierWithoutPasscode() }
            let open = try hierarchy.openTier()
            let withCode = TierKeys(
                indexKey: open.indexKey, integrityKey: open.integrityKey,
                classes: open.classes.merging(unlocked?.openClasses ?? [:]) { known, _ in known })
            let opened = KeybagVector2.Opened(
                keychainID: Hex(keybag.keychainID), generation: keybag.generation,
                machine: "\(hierarchy.machineState)", open: .init(withCode),
                guarded: guarded.map { .init($0) })
            return (opened, nil)
        } catch {
            return (nil, error.status == .authFailed ? .wrongPasscode : .missingKey)
        }
    }
}
