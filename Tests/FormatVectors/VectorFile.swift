// VectorFile: a file of test vectors in the structure of Wycheproof's files, with bytes as
// lower-case hexadecimal digits. Documentation/Formats/README.md, "Vectors".
//   (1) `read` returns a complete file or throws an error. A complete file has `numberOfTests`
//       tests, numbered from 1, both valid and invalid ones, and explains exactly the flags of the
//       tests. A truncated or missing file can't pass.

import FoundationEssentials

/// The expected result of reading the input.
package enum VectorResult: String, Codable, Sendable {
    case valid, invalid
}

package protocol FormatVector: Codable, Sendable {
    /// The number of the test in its file, from 1.
    var tcId: Int { get set }
    var comment: String { get }
    /// The subjects of the test. The file's notes explain each of them.
    var flags: [String] { get }
    var result: VectorResult { get }
}

package struct VectorFile<Test: FormatVector>: Codable, Sendable {
    /// The tested format or function.
    package var algorithm: String
    /// The version of the format.
    package var version: Int
    package var numberOfTests: Int
    package var notes: [String: String]
    package var testGroups: [VectorGroup<Test>]

    package var tests: [Test] { testGroups.flatMap(\.tests) }

    package init(
        algorithm: String, version: Int = 1, notes: [String: String],
        keychains: [KeychainVector]? = nil, tests: [Test]
    ) {
        self.algorithm = algorithm
        self.version = version
        numberOfTests = tests.count
        self.notes = notes
        var numbered = tests
        for index in numbered.indices { numbered[index].tcId = index + 1 }
        testGroups = [VectorGroup(keychains: keychains, tests: numbered)]
    }

    /// Reads `name.json` from the folder of vectors.
    package static func read(_ name: String) throws -> VectorFile {
        let path = VectorFolder.path + "/\(name).json"
        let file = try JSONDecoder().decode(
            VectorFile.self, from: Data(contentsOf: URL(filePath: path)))
        try file.check(name)
        return file
    }

    package func write(_ name: String, to folder: String) throws {
        try check(name)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var bytes = try encoder.encode(self)
        bytes.append(UInt8(ascii: "\n"))
        try bytes.write(to: URL(filePath: folder + "/\(name).json"))
    }

    private func check(_ name: String) throws {
        guard !tests.isEmpty, tests.count == numberOfTests,
            tests.map(\.tcId) == Array(1...tests.count)
        else { throw VectorFileError(reason: "\(name): the test numbers are wrong") }
        let used = Set(tests.flatMap(\.flags))
        guard used == Set(notes.keys) else {
            throw VectorFileError(reason: "\(name): flags and notes differ")
        }
        guard Set(tests.map(\.result)).count == 2 else {
            throw VectorFileError(reason: "\(name): only valid or only invalid tests")
        }
    }
}

/// Tests with their common parameters.
package struct VectorGroup<Test: FormatVector>: Codable, Sendable {
    /// The keychains that the tests refer to, if any.
    package var keychains: [KeychainVector]?
    package var tests: [Test]
}

package struct VectorFileError: Error {
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

package enum VectorFolder {
    /// The folder `Documentation/Formats/vectors` of the repository from which this file was
    /// compiled.
    package static var path: String {
        let repository = "\(#filePath)".split(separator: "/").dropLast(3)
        return "/" + repository.joined(separator: "/") + "/Documentation/Formats/vectors"
    }
}

// MARK: - Bytes

/// Bytes as a string of hexadecimal digits in JSON.
package struct Hex: Hashable, Sendable {
    package var bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// - Returns: `nil` unless the text consists of pairs of lower-case hexadecimal digits.
    package init?(digits: String) {
        let digits = Array(digits.utf8)
        guard digits.count % 2 == 0 else { return nil }
        bytes = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
    }

    package var digits: String {
        let characters = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [characters[Int($0 >> 4)], characters[Int($0 & 15)]] },
            as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension Hex: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let hex = Hex(digits: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not lower-case hexadecimal")
        }
        self = hex
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(digits)
    }
}
