// The vectors in Documentation/Formats that need no database: device key, keybag and labels.

import FormatVectors
import KeychainCrypto
import KeychainCore
import Testing

@Suite struct `Format vectors of keys` {
    @Test func `device keys are read as in the vectors`() throws {
        let file = try VectorFile<DeviceKeyVector>.read("device-key-v1")
        var count = 0
        for test in file.tests {
            count += 1
            let contents = try? DeviceKeyFile.decode(test.file.secret)
            #expect((contents != nil) == (test.result == .valid), "test \(test.tcId)")
            #expect(contents.map { Hex($0.key) } == test.deviceKey, "test \(test.tcId)")
            #expect(contents?.isWhole == test.isWhole, "test \(test.tcId)")
            if let contents, contents.isWhole {
                #expect(Hex(DeviceKeyFile.encode(contents.key)) == test.file, "test \(test.tcId)")
            }
        }
        #expect(count == 22)
    }

    @Test func `sealed device keys are read as in the vectors`() throws {
        let file = try VectorFile<SealedDeviceKeyVector>.read("device-key-v2")
        #expect(file.version == 2)
        var count = 0
        for test in file.tests {
            count += 1
            let contents = SealedDeviceKeyFile.decode(test.file.secret)
            #expect((contents != nil) == (test.result == .valid), "test \(test.tcId)")
            #expect(contents.map { Hex($0.sealed) } == test.sealed, "test \(test.tcId)")
            #expect(contents?.isWhole == test.isWhole, "test \(test.tcId)")
            if let contents, contents.isWhole {
                #expect(
                    Hex(SealedDeviceKeyFile.encode(contents.sealed)) == test.file,
                    "test \(test.tcId)")
            }
            // No file is valid in both versions.
            if contents != nil {
                #expect((try? DeviceKeyFile.decode(test.file.secret)) == nil, "test \(test.tcId)")
            }
        }
        #expect(count == 31)
    }

    @Test func `a device key of version 1 isn't read as one of version 2`() throws {
        var count = 0
        for test in try VectorFile<DeviceKeyVector>.read("device-key-v1").tests {
            count += 1
            #expect(SealedDeviceKeyFile.decode(test.file.secret) == nil, "test \(test.tcId)")
        }
        #expect(count == 22)
    }

    @Test func `keybags are opened as in the vectors`() throws {
        let file = try VectorFile<KeybagVector>.read("keybag-v1")
        var count = 0
        for test in file.tests {
            count += 1
            let (opened, failure) = open(test)
            #expect(failure == test.failure, "test \(test.tcId)")
            #expect(opened == test.opened, "test \(test.tcId)")
            // An opened keybag is encoded to the same bytes.
            if let opened { #expect(opened.keybag == test.keybag, "test \(test.tcId)") }
        }
        #expect(count == 65)
    }

    /// The content of a test's keybag, or the step that fails.
    private func open(_ test: KeybagVector) -> (KeychainVector?, KeybagVector.Failure?) {
        let keybag: KeybagVersion1
        do {
            keybag = try KeybagVersion1.parse(test.keybag.bytes)
        } catch {
            return (nil, error.status == .wrongVersion ? .newerVersion : .malformed)
        }
        let deviceKey = test.deviceKey.secret
        guard let hierarchy = try? KeyHierarchyVersion1(keybag, deviceKey: deviceKey) else {
            return (nil, .inauthentic)
        }
        do {
            let opened = try KeychainVector(
                hierarchy, deviceKey: deviceKey, passcode: test.passcode?.secret)
            return (opened, nil)
        } catch {
            return (nil, error.status == .authFailed ? .wrongPasscode : .missingKey)
        }
    }

    @Test(arguments: [("label-v1", 52), ("label-v2", 38)])
    func `labels are computed as in the vectors`(name: String, expectedCount: Int) throws {
        let file = try VectorFile<LabelVector>.read(name)
        var count = 0
        for test in file.tests {
            count += 1
            #expect(
                (try label(of: test) == test.label) == (test.result == .valid),
                "test \(test.tcId)")
        }
        #expect(count == expectedCount)
    }

    private func label(of test: LabelVector) throws -> Hex {
        let index = BlindIndex(key: test.indexKey.secret)
        let space = BlindIndex.Space(
            itemClass: try #require(ItemClass(name: test.itemClass)),
            isSynchronizable: test.isSynchronizable, isTombstone: test.isTombstone)
        func accessGroup() throws -> String {
            let bytes = try #require(test.accessGroup).bytes
            return try #require(String(validating: bytes, as: UTF8.self))
        }
        switch test.domain {
        case .attribute:
            let (attribute, value) = try #require(test.fields.first?.attribute)
            return Hex(index.label(of: attribute, value, in: space))
        case .remainingKey:
            let attributes = try #require(test.fields.attributes)
            return Hex(
                index.remainingKeyLabel(attributes, accessGroup: try accessGroup(), in: space))
        case .accessGroup:
            return Hex(index.label(ofAccessGroup: try accessGroup(), in: space))
        case .server:
            return Hex(index.serverLabel(try #require(test.fields.attributes), in: space))
        }
    }
}
