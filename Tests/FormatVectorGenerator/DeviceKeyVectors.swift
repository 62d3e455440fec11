// DeviceKeyVectors: Documentation/Formats/device-key-v1.md.

import FormatVectors
import KeychainCrypto
import KeychainCore

enum DeviceKeyVectors {
    private static let key = Example.counting(from: 0)

    static var file: VectorFile<DeviceKeyVector> {
        VectorFile(
            algorithm: "swift-keychain device key",
            notes: [
                "Copies": "How the two copies in the file stand in for each other.",
                "Format": "The bytes that make a file a device key.",
                "Size": "The size of the file.",
            ],
            tests: tests)
    }

    static var exampleLines: [String] {
        Example.dump("device key", key) + [""] + Example.dump("file", whole)
    }

    private static var whole: [UInt8] {
        DeviceKeyFile.encode(SecretBytes(copying: key)).plainBytes
    }

    private static func changed(_ offsets: Int...) -> Hex {
        var bytes = whole
        for offset in offsets { bytes[offset] ^= 1 }
        return Hex(bytes)
    }

    /// A file with two equal copies, each of which has one changed byte and the hash that matches
    /// the change.
    private static func rehashed(_ offset: Int, _ value: UInt8) -> Hex {
        var head = Array(whole[..<40])
        head[offset] = value
        let copy = head + SecretBytes(copying: head).sha256
        return Hex(copy + copy)
    }

    private static var tests: [DeviceKeyVector] {
        let zero = [UInt8](repeating: 0, count: 32)
        func valid(_ comment: String, _ file: Hex, isWhole: Bool) -> DeviceKeyVector {
            DeviceKeyVector(
                comment, ["Copies"], .valid, file: file, deviceKey: Hex(key), isWhole: isWhole)
        }
        func invalid(_ comment: String, _ flag: String, _ file: Hex) -> DeviceKeyVector {
            DeviceKeyVector(comment, [flag], .invalid, file: file)
        }
        return [
            valid("two sound copies", Hex(whole), isWhole: true),
            DeviceKeyVector(
                "a key of zeros", ["Copies"], .valid,
                file: Hex(DeviceKeyFile.encode(SecretBytes(copying: zero))), deviceKey: Hex(zero),
                isWhole: true),
            valid("one bit of the first copy's key changed", changed(8), isWhole: false),
            valid("one bit of the first copy's hash changed", changed(71), isWhole: false),
            valid("the first copy's magic changed", changed(0), isWhole: false),
            valid("the first copy's version changed", changed(4), isWhole: false),
            valid("the first copy's reserved bytes changed", changed(7), isWhole: false),
            valid("one bit of the second copy's key changed", changed(80), isWhole: false),
            valid("one bit of the second copy's hash changed", changed(143), isWhole: false),
            valid(
                "the first copy all zeros",
                Hex([UInt8](repeating: 0, count: 72) + whole[72...]), isWhole: false),
            valid(
                "the second copy all zeros",
                Hex(whole[..<72] + [UInt8](repeating: 0, count: 72)), isWhole: false),
            invalid("both copies' keys changed", "Copies", changed(8, 80)),
            invalid(
                "the first copy's key and the second's hash changed", "Copies", changed(8, 143)),
            invalid("the wrong magic, with hashes that fit", "Format", rehashed(3, 0x4C)),
            invalid("version 0, with hashes that fit", "Format", rehashed(4, 0)),
            invalid("version 2, with hashes that fit", "Format", rehashed(4, 2)),
            invalid("144 zeros", "Format", Hex([UInt8](repeating: 0, count: 144))),
            invalid("an empty file", "Size", Hex([])),
            invalid("one copy only", "Size", Hex(whole[..<72])),
            invalid("one byte short", "Size", Hex(whole[..<143])),
            invalid("one byte too many", "Size", Hex(whole + [0])),
            invalid("three copies", "Size", Hex(whole + whole[..<72])),
        ]
    }
}
