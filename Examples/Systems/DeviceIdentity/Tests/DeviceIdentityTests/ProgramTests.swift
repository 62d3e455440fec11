// ProgramTests: runs the session of README.md and many concurrent processes of device-identity, and
// examines the files that the program leaves.

import DeviceIdentity
import ExampleTesting
import Foundation
import Testing

@Suite(.serialized) struct `Program device-identity` {
    static let old = "3F2504E0-4F89-41D3-9A0C-0305E82C3301"

    @Test func `the program prints the session of the README`() throws {
        try Session(readmeOf: "DeviceIdentity").check(
            in: Home(["device-identity", "backend", "keychainctl"], portVariable: "BACKEND_PORT"))
    }

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `32 concurrent first launches print the same identifier`(
        hasKeychain: Bool
    ) throws {
        let home = try Home(["device-identity"])
        let data = home.url.appending(path: "fresh")
        home.environment = ["XDG_DATA_HOME": data.path]
        // Without a keychain, the processes first race to create it. With a keychain, nothing
        // delays them, so most of them look for the identifier before any process has saved one.
        if hasKeychain {
            _ = try home.run("device-identity")
            #expect(try home.run("device-identity reset") == "The identifier was deleted.\n")
        }
        #expect(FileManager.default.fileExists(atPath: data.path) == hasKeychain)
        let printed = try Race(32, "device-identity", [], in: home).run()
        #expect(printed.count == 32)
        #expect(Set(printed).count == 1)
        let identifier = try #require(printed.first).trimmingCharacters(in: .newlines)
        #expect(UUID(uuidString: identifier) != nil, "\(identifier)")
        #expect(try home.run("device-identity") == "\(identifier)\n")
    }

    @Test(.timeLimit(.minutes(5)))
    func `the backend registers the device once for 8 concurrent launches`() throws {
        let home = try Home(["device-identity", "backend"], portVariable: "BACKEND_PORT")
        #expect(try home.run("backend on") == "The backend is on.\n")
        let printed = try Race(8, "device-identity", ["register"], in: home).run()
        #expect(printed == Array(repeating: "This device is registered.\n", count: 8))
        let log = try home.run("backend log").split(separator: "\n")
        #expect(log.count { $0 == "POST /devices 201" } == 1)
        #expect(log.count { $0.hasPrefix("GET /devices/") } == 8)
        let requests = log.count
        #expect(try home.run("device-identity register") == "This device is registered.\n")
        let later = try home.run("backend log").split(separator: "\n").dropFirst(requests)
        let identifier = try home.run("device-identity").trimmingCharacters(in: .newlines)
        #expect(later == ["GET /devices/\(identifier) 200"])
    }

    @Test func `a registration that the backend refuses is tried again at the next launch`() throws
    {
        let home = try Home(["device-identity", "backend"], portVariable: "BACKEND_PORT")
        #expect(try home.run("device-identity register").hasSuffix("error occurred.\n[1]\n"))
        #expect(try home.run("backend on ok refuse ok") == "The backend is on.\n")
        #expect(
            try home.run("device-identity register")
                == "device-identity: An unexpected error occurred.\n[1]\n")
        #expect(try home.run("device-identity register") == "This device is registered.\n")
        let log = try home.run("backend log").split(separator: "\n").map { $0.suffix(3) }
        #expect(log == ["404", "403", "404", "201"])
    }

    @Test func `no file, including that of UserDefaults, contains the identifier in plaintext`()
        throws
    {
        let home = try Home(["device-identity"])
        let old = Self.old
        #expect(try home.run("echo \(old) | device-identity import") == "Imported.\n")
        #expect(try home.run("device-identity") == "\(old)\n")
        // `home.run` writes the output of each command to a file in the home directory. This
        // command overwrites the output that contains the identifier.
        #expect(try home.run("device-identity migrate") == "Nothing to migrate.\n")
        #expect(try home.run("grep -rlaFi \(old) . || true") == "")
        // The same search finds an identifier that is in a file.
        #expect(try home.run("echo x\(old)x > file && grep -rlaFi \(old) .") == "./file\n")
    }

    @Test func `the next launch completes a migration that was interrupted after the save`() throws
    {
        let home = try Home(["device-identity"])
        let file = home.url.appending(path: ".config/device-identity.plist")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        #expect(try home.run("echo \(Self.old) | device-identity import") == "Imported.\n")
        let plist = try PropertyListSerialization.data(
            fromPropertyList: ["deviceId": Self.old, "theme": "dark"], format: .xml, options: 0)
        try plist.write(to: file)
        #expect(
            try home.run("device-identity migrate")
                == "Cleaned up: the keychain already has an identifier.\n")
        // The other settings are kept.
        let left = try PropertyListSerialization.propertyList(
            from: Data(contentsOf: file), format: nil)
        #expect(left as? [String: String] == ["theme": "dark"])
        #expect(try home.run("device-identity migrate") == "Nothing to migrate.\n")
    }

    @Test func `wrong usage is reported`() throws {
        let home = try Home(["device-identity"])
        for limit in ["nan", "inf", "-1", "1e300", "soon"] {
            home.environment = ["BACKEND_TIME_LIMIT": limit]
            let printed = try home.run("device-identity register")
            #expect(printed.hasPrefix("device-identity: usage: "), "\(limit)")
            #expect(printed.hasSuffix("[64]\n"), "\(limit)")
        }
        home.environment = [:]
        let printed = try home.run("device-identity import \(Self.old)")
        #expect(printed.hasPrefix("usage: device-identity "))
        #expect(printed.hasSuffix("[64]\n"))
        #expect(try home.run("device-identity has") == "no\n")
    }
}

/// Many processes of one program that start at the same moment.
private struct Race {
    private let start = Pipe()
    private let racers: [Racer]

    init(_ count: Int, _ program: String, _ arguments: [String], in home: Home) throws {
        let start = start
        racers = try (0..<count).map { _ in try Racer(program, arguments, home, start) }
    }

    /// Releases the processes and waits until all have ended.
    ///
    /// - Returns: The output of each process.
    func run() throws -> [String] {
        for racer in racers { racer.waitUntilReady() }
        try start.fileHandleForWriting.close()
        return racers.map { $0.result() }
    }
}

/// A shell that waits for the end of its input and then executes the program.
private final class Racer {
    private let process = Process()
    private let output = Pipe()

    init(_ program: String, _ arguments: [String], _ home: Home, _ start: Pipe) throws {
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c", "echo ready; read line; exec \"$0\" \"$@\" 2>&1",
                Home.programs.appending(path: program).path,
            ] + arguments
        process.environment = [
            "HOME": home.url.path, "KEYCHAIN_TPM": "none",
            // Never use the keychain service of the machine that the tests run on.
            "KEYCHAIN_SERVICE": "embedded",
            "LLVM_PROFILE_FILE": home.url.appending(path: ".profile").path,
        ].merging(home.environment) { $1 }
        process.standardInput = start.fileHandleForReading
        process.standardOutput = output
        try process.run()
    }

    func waitUntilReady() {
        while let byte = try? output.fileHandleForReading.read(upToCount: 1),
            !byte.isEmpty, byte != Data("\n".utf8)
        {}
    }

    func result() -> String {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
            + (process.terminationStatus == 0 ? "" : "[\(process.terminationStatus)]")
    }
}
