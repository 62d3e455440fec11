// WycheproofFile: reads a file in the folder Vectors, whose README.md explains the lines.
//   (1) `read` returns as many tests as the file states, or throws an error. So a test that reads
//       a truncated file fails.

import Foundation

/// A test of Wycheproof.
struct WycheproofTest: Sendable {
    enum Result: String {
        case valid, invalid
        /// An implementation may accept or refuse the input.
        case acceptable
    }

    /// Wycheproof's number of the test.
    let number: Int
    let result: Result
    let flags: Set<String>
    let values: [Data]
    /// Named values that apply to all tests of a group.
    let settings: [String: String]

    /// The key, in the form that `SecKeyCreateWithData` accepts.
    var key: Data { Data(base64Encoded: settings["key"] ?? "") ?? Data() }
    /// The hash's name, as in algorithm identifiers.
    var hash: String { settings["hash"] ?? "" }
    /// The size of an RSA key in bits.
    var bits: Int { settings["bits"].flatMap { Int($0) } ?? 0 }
}

/// A file of tests.
struct WycheproofFile: Sendable {
    /// The reason why a file is invalid.
    struct Malformed: Error {
        let line: String
    }

    let tests: [WycheproofTest]

    static func read(_ name: String, values: Int) throws -> WycheproofFile {
        let folder = URL(filePath: "\(#filePath)").deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Vectors")
        let bytes = try Data(contentsOf: folder.appending(path: "\(name).txt"))
        var settings: [String: String] = [:]
        var tests: [WycheproofTest] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " ")).map {
                String(decoding: $0, as: UTF8.self)
            }
            if words.first == "#" { continue }
            if words.count == 3, words[1] == "=" {
                settings[words[0]] = words[2]
            } else {
                tests.append(try test(words, settings, values: values))
            }
        }
        guard !tests.isEmpty, settings["tests"] == "\(tests.count)" else {
            throw Malformed(line: "\(name): \(tests.count) tests")
        }
        return WycheproofFile(tests: tests)
    }

    private static func test(
        _ words: [String], _ settings: [String: String], values: Int
    ) throws -> WycheproofTest {
        let data = words.dropFirst(3).compactMap {
            $0 == "-" ? Data() : Data(base64Encoded: $0)
        }
        guard words.count == 3 + values, data.count == values, let number = Int(words[0]),
            let result = WycheproofTest.Result(rawValue: words[1])
        else { throw Malformed(line: words.joined(separator: " ")) }
        let flags = words[2] == "-" ? [] : words[2].split(separator: "+").map(String.init)
        return WycheproofTest(
            number: number, result: result, flags: Set(flags), values: data, settings: settings)
    }
}
