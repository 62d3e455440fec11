// Options: the arguments of a run.

import Foundation

struct UsageError: Error, CustomStringConvertible {
    let description: String
}

struct Options {
    /// How many items the keychains hold, ascending.
    var sizes = [1_000, 10_000, 100_000, 1_000_000]
    var isJSON = false
    /// Where the measured keychains are made and removed again: on a disk, or a durable write
    /// costs nothing.
    var folder: String
    /// Where the plot goes.
    var results: String
    var keychainctl: String
    var keychaind: String

    static let usage = """
        usage: benchmarks [--quick] [--json] [--folder PATH] [--results PATH] [--keychainctl PATH]
                          [--keychaind PATH]

          --quick             up to 100,000 items; without it up to 1,000,000
          --json              results as JSON
          --folder PATH       where the measured keychains are made, on a disk
                              (default: $XDG_DATA_HOME or .build)
          --results PATH      where the plot goes (default: Benchmarks/results or results)
          --keychainctl PATH  a release build (default: .build/release/keychainctl)
          --keychaind PATH    a release build (default: .build/release/keychaind)
        """

    /// - Returns: nil where the usage was asked for.
    init?(_ arguments: [String]) throws {
        let files = FileManager.default
        folder = Environment.value("XDG_DATA_HOME") ?? ".build"
        results = files.fileExists(atPath: "Benchmarks") ? "Benchmarks/results" : "results"
        keychainctl = ".build/release/keychainctl"
        keychaind = ".build/release/keychaind"
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": sizes = sizes.filter { $0 <= 100_000 }
            case "--json": isJSON = true
            case "--folder": folder = try Self.value(of: argument, &rest)
            case "--results": results = try Self.value(of: argument, &rest)
            case "--keychainctl": keychainctl = try Self.value(of: argument, &rest)
            case "--keychaind": keychaind = try Self.value(of: argument, &rest)
            case "--help", "-h": return nil
            default: throw UsageError(description: "What is \(argument)?\n\(Self.usage)")
            }
        }
        folder = URL(fileURLWithPath: folder).path
        keychainctl = URL(fileURLWithPath: keychainctl).path
        keychaind = URL(fileURLWithPath: keychaind).path
    }

    private static func value(
        of option: String, _ rest: inout ArraySlice<String>
    ) throws -> String {
        guard let value = rest.popFirst() else {
            throw UsageError(description: "\(option) needs a value.")
        }
        return value
    }
}
