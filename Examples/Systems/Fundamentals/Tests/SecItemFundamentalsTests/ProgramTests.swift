// ProgramTests: runs the program with a keychain that it opens itself, and through the service.

import ExampleTesting
import Foundation
import Security
import Testing

@Suite struct ProgramTests {
    private func home() throws -> Home {
        let home = try Home(["Fundamentals", "keychainctl"])
        home.environment["KEYCHAIN_SERVICE"] = "embedded"
        return home
    }

    @Test func `the program prints the session of the README`() throws {
        try Session(readmeOf: "Fundamentals").check(in: home())
    }

    /// The output of a command according to the README.
    private func output(of command: String) throws -> String {
        try #require(
            Session(readmeOf: "Fundamentals").steps.first { $0.command == command }
        ).output
    }

    @Test func `through the service the session is the same, and each valid call is one request`()
        throws
    {
        let home = try home()
        let service = try ServiceProcess(in: home)
        home.environment["KEYCHAIN_SERVICE"] = service.socket
        #expect(
            try home.run("Fundamentals --calls 2>calls") == output(of: "Fundamentals"))
        let calls = try String(contentsOf: home.url.appending(path: "calls"), encoding: .utf8)
            .split(separator: "\n").map { try Call($0) }
        let requests = try service.end(requestsOf: "Fundamentals").map { try Call(request: $0) }

        // The functions reject an invalid dictionary before they send a request to the service.
        let refused: Set<OSStatus> = [errSecParam, errSecNoSuchAttr]
        #expect(requests == calls.filter { !refused.contains($0.status) })
        #expect(requests.count > 150)
        #expect(calls.contains { refused.contains($0.status) })
        #expect(
            try output(of: "Fundamentals").contains("\n\(calls.count) calls, "))

        // The keychain is in the service's folder. The program itself created no keychain.
        #expect(!FileManager.default.fileExists(atPath: home.keychain.path))
        #expect(
            FileManager.default.fileExists(
                atPath: service.keychain.appending(path: "keychain.db").path))
        let made = try FileManager.default.contentsOfDirectory(atPath: home.url.path)
            .filter { !$0.hasPrefix(".profile") }
        #expect(Set(made) == ["bin", "served", ".output", "calls"])
    }

    /// A function and its status.
    private struct Call: Equatable {
        let function: String
        let status: OSStatus

        init(_ line: Substring) throws {
            let match = try #require(line.wholeMatch(of: /.*: (SecItem\w+) \[.*\] (-?\d+)/))
            function = String(match.1)
            status = try #require(OSStatus(match.2))
        }

        init(request line: String) throws {
            let match = try #require(
                line.firstMatch(of: #/^info (\w+) query=.* status=(-?\d+) /#))
            let functions = [
                "add": "SecItemAdd", "find": "SecItemCopyMatching", "update": "SecItemUpdate",
                "delete": "SecItemDelete",
            ]
            function = try #require(functions[String(match.1)])
            status = try #require(OSStatus(match.2))
        }
    }

    @Test func `the program makes every SecItem call on one of its three queues`() throws {
        let home = try home()
        #expect(try home.run("Fundamentals --calls 2>calls") == output(of: "Fundamentals"))
        let calls = try String(contentsOf: home.url.appending(path: "calls"), encoding: .utf8)
            .split(separator: "\n")
        let queues = Dictionary(grouping: calls) { String($0.prefix { $0 != ":" }) }
        #expect(Set(queues.keys) == ["Fundamentals", "KeychainManager", "com.app.keychain"])
        #expect(queues["com.app.keychain"]?.count == 2)
        // Every call specifies the data protection keychain.
        for call in calls {
            let keys = call.split { " []".contains($0) }
            #expect(keys.contains { $0 == kSecUseDataProtectionKeychain as String }, "\(call)")
        }
    }

    @Test func `if the service is locked, the program reports the lock and deletes nothing`() throws
    {
        let home = try home()
        let service = try ServiceProcess(in: home)
        home.environment["KEYCHAIN_SERVICE"] = service.socket
        let set =
            "printf secret | keychainctl set --service org.example.fundamentals --account kept"
        #expect(try home.run(set) == "")
        #expect(try home.run("printf 1234 | keychainctl passcode set --weak --fd 0") == "")
        // The restarted service is locked until the first unlock.
        _ = service.end(requestsOf: "Fundamentals")
        let restarted = try ServiceProcess(in: home)
        home.environment["KEYCHAIN_SERVICE"] = restarted.socket
        #expect(try home.run("Fundamentals locked") == output(of: "Fundamentals locked"))
        #expect(try home.run("printf 1234 | keychainctl unlock --passcode-fd 0") == "")
        // The item is unchanged, and no other item was created in its place.
        #expect(
            try home.run("Fundamentals unlocked") == output(of: "Fundamentals unlocked"))
        let requests = restarted.end(requestsOf: "Fundamentals")
        #expect(!requests.contains { $0.hasPrefix("info delete") })
        #expect(requests.contains { $0.contains("status=-25308") })
    }

    @Test func `an unknown argument is refused`() throws {
        #expect(
            try home().run("Fundamentals nonsense")
                == "usage: Fundamentals [--calls] [locked | unlocked]\n[64]\n")
    }

    @Test func `a failed check results in exit status 1`() throws {
        let home = try home()
        let printed = try home.run("Fundamentals unlocked")
        #expect(
            printed == """

                After the passcode was removed
                  FAILED: an item that was locked is unchanged
                  an item that needs a passcode was deleted with the passcode

                2 calls, 2 checks, 1 failed
                [1]

                """)
    }
}
