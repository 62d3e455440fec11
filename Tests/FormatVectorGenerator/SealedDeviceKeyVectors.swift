// SealedDeviceKeyVectors: Documentation/Formats/device-key-v2.md.

import FormatVectors
import FoundationEssentials
import KeychainCrypto
import KeychainCore

enum SealedDeviceKeyVectors {
    /// Stands for bytes that a TPM would generate. The format specifies only their size.
    private static let sealed = Example.counting(from: 0x80, count: 24)

    static var file: VectorFile<SealedDeviceKeyVector> {
        VectorFile(
            algorithm: "swift-keychain sealed device key", version: 2,
            notes: [
                "Copies": "How the two copies in the file stand in for each other.",
                "Format": "The bytes that make a file a sealed device key.",
                "Size": "The sizes of the file and of what is sealed.",
            ],
            tests: tests)
    }

    static var exampleLines: [String] {
        Example.dump("what the hardware sealed", sealed) + [""] + Example.dump("file", whole)
    }

    private static var whole: [UInt8] { SealedDeviceKeyFile.encode(Data(sealed)) }
    private static var half: [UInt8] { Array(whole.prefix(whole.count / 2)) }

    private static func changed(_ offsets: Int...) -> Hex {
        var bytes = whole
        for offset in offsets { bytes[offset] ^= 1 }
        return Hex(bytes)
    }

    /// A copy, which consists of the head and its hash.
    private static func copy(_ head: [UInt8]) -> [UInt8] {
        head + SecretBytes(copying: head).sha256
    }

    /// A file with two equal copies, each of which has one changed byte and the hash that matches
    /// the change.
    private static func rehashed(_ offset: Int, _ value: UInt8) -> Hex {
        var head = Array(half.dropLast(32))
        head[offset] = value
        return Hex(copy(head) + copy(head))
    }

    private static func sized(_ count: Int) -> Hex {
        Hex(SealedDeviceKeyFile.encode(Data([UInt8](repeating: 7, count: count))))
    }

    private static var tests: [SealedDeviceKeyVector] {
        func valid(_ comment: String, _ file: Hex, isWhole: Bool) -> SealedDeviceKeyVector {
            SealedDeviceKeyVector(
                comment, ["Copies"], .valid, file: file, sealed: Hex(sealed), isWhole: isWhole)
        }
        func ofSize(_ count: Int) -> SealedDeviceKeyVector {
            SealedDeviceKeyVector(
                "\(count) sealed bytes", ["Size"], .valid, file: sized(count),
                sealed: Hex([UInt8](repeating: 7, count: count)), isWhole: true)
        }
        func invalid(_ comment: String, _ flag: String, _ file: Hex) -> SealedDeviceKeyVector {
            SealedDeviceKeyVector(comment, [flag], .invalid, file: file)
        }
        let other = Array(SealedDeviceKeyFile.encode(Data(sealed.reversed())).prefix(half.count))
        let key = SecretBytes(copying: Example.counting(from: 0))
        return [
            valid("two sound copies", Hex(whole), isWhole: true),
            valid("one bit of the first copy's sealed bytes changed", changed(9), isWhole: false),
            valid("one bit of the first copy's hash changed", changed(63), isWhole: false),
            valid("the first copy's magic changed", changed(0), isWhole: false),
            valid("the first copy's version changed", changed(4), isWhole: false),
            valid("the first copy's sealing changed", changed(5), isWhole: false),
            valid("the first copy's size changed", changed(7), isWhole: false),
            valid("one bit of the second copy's sealed bytes changed", changed(80), isWhole: false),
            valid("one bit of the second copy's hash changed", changed(127), isWhole: false),
            valid(
                "the first copy all zeros",
                Hex([UInt8](repeating: 0, count: half.count) + half), isWhole: false),
            valid(
                "the second copy all zeros",
                Hex(half + [UInt8](repeating: 0, count: half.count)), isWhole: false),
            ofSize(1), ofSize(208), ofSize(1024),
            invalid("both copies' sealed bytes changed", "Copies", changed(9, 80)),
            invalid("two sound copies that differ", "Copies", Hex(half + other)),
            invalid("the wrong magic, with hashes that fit", "Format", rehashed(3, 0x4C)),
            invalid("version 1, with hashes that fit", "Format", rehashed(4, 1)),
            invalid("version 3, with hashes that fit", "Format", rehashed(4, 3)),
            invalid("sealing 0, with hashes that fit", "Format", rehashed(5, 0)),
            invalid("sealing 2, with hashes that fit", "Format", rehashed(5, 2)),
            invalid("a device key of version 1", "Format", Hex(DeviceKeyFile.encode(key))),
            invalid("a size of one less, with hashes that fit", "Size", rehashed(7, 23)),
            invalid("a size of one more, with hashes that fit", "Size", rehashed(7, 25)),
            invalid("no sealed bytes", "Size", sized(0)),
            invalid("1025 sealed bytes", "Size", sized(1025)),
            invalid("an empty file", "Size", Hex([])),
            invalid("one copy only", "Size", Hex(half)),
            invalid("one byte short", "Size", Hex(whole.dropLast())),
            invalid("one byte too many", "Size", Hex(whole + [0])),
            invalid("three copies", "Size", Hex(whole + half)),
        ]
    }
}
