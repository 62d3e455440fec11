// Options: the arguments of a run.

import Foundation

struct UsageError: Error, CustomStringConvertible {
    let description: String
}

struct Options {
    /// The numbers of items in the keychains, ascending.
    var sizes = [1_000, 10_000, 100_000, 1_000_000]
    var isJSON = false
    /// Whether to measure only the comparison with other stores.
    var isPeersOnly = false
    /// The folder in which the measured keychains are created, and removed after the measurement.
    /// The folder has to be on a disk: on a file system in memory, a durable write costs no more
    /// than any other.
    var folder: String
    /// The folder for the plots.
    var results: String
    var keychainctl: String
    var keychaind: String
    /// The folder of the scripts that use other stores.
    var peers: String
    /// A Python interpreter with the packages that the scripts in ``peers`` import.
    var python: String

    static let usage = """
        usage: benchmarks [--quick] [--peers] [--json] [--folder PATH] [--results PATH]
                          [--keychainctl PATH] [--keychaind PATH] [--python PATH]

          --quick             up to 100,000 items; without it up to 1,000,000
          --peers             only the comparison with other secret stores
          --json              results as JSON
          --folder PATH       where to create the measured keychains, on a disk
                              (default: $XDG_DATA_HOME or .build)
          --results PATH      where to write the plots (default: Benchmarks/results or results)
          --keychainctl PATH  a release build (default: .build/release/keychainctl)
          --keychaind PATH    a release build (default: .build/release/keychaind)
          --python PATH       a Python interpreter with the packages in
                              Benchmarks/Peers/requirements.txt
                              (default: .build/peers/bin/python)

        The exit status is 1 if a limit is missed by more than the noise of the run.
        """

    /// - Returns: `nil` if the usage was requested.
    init?(_ arguments: [String]) throws {
        let files = FileManager.default
        folder = Environment.value("XDG_DATA_HOME") ?? ".build"
        let package = files.fileExists(atPath: "Benchmarks") ? "Benchmarks/" : ""
        results = package + "results"
        peers = package + "Peers"
        python = ".build/peers/bin/python"
        keychainctl = ".build/release/keychainctl"
        keychaind = ".build/release/keychaind"
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": sizes = sizes.filter { $0 <= 100_000 }
            case "--peers": isPeersOnly = true
            case "--json": isJSON = true
            case "--folder": folder = try Self.value(of: argument, &rest)
            case "--results": results = try Self.value(of: argument, &rest)
            case "--keychainctl": keychainctl = try Self.value(of: argument, &rest)
            case "--keychaind": keychaind = try Self.value(of: argument, &rest)
            case "--python": python = try Self.value(of: argument, &rest)
            case "--help", "-h": return nil
            default: throw UsageError(description: "Unknown argument: \(argument)\n\(Self.usage)")
            }
        }
        folder = URL(fileURLWithPath: folder).path
        keychainctl = URL(fileURLWithPath: keychainctl).path
        keychaind = URL(fileURLWithPath: keychaind).path
        peers = URL(fileURLWithPath: peers).path
        python = URL(fileURLWithPath: python).path
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
