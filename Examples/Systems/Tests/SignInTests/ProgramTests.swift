// sign-in as a program: each run is a launch. The session of README.md, and bad keychains.

import ExampleTesting
import Foundation
import Keychain
import Testing

@Suite struct `Program sign-in` {
    @Test func `the session of README.md is what is printed`() throws {
        try ExampleTesting.Session("Sign-in", in: packageDirectory.appending(path: "README.md"))
            .check(in: Home(["sign-in"]))
    }

    @Test func `another process restores the session until one signs out`() throws {
        let home = try Home(["sign-in"])
        #expect(try home.run("sign-in status") == "signed out\n")
        #expect(try home.run("sign-in sign-in alice") == "signed in: alice\n")
        #expect(try home.run("sign-in status") == "signed in: alice\n")
        #expect(try home.run("sign-in sign-in bob") == "signed in: bob\n")
        #expect(try home.run("sign-in status") == "signed in: bob\n")
        #expect(try home.run("sign-in sign-out") == "signed out\n")
        #expect(try home.run("sign-in status") == "signed out\n")
        #expect(try home.run("sign-in sign-out") == "signed out\n")
    }

    @Test func `a locked keychain is reported, and the session is there after unlock`() throws {
        let home = try Home(["sign-in"])
        #expect(try home.run("sign-in sign-in alice") == "signed in: alice\n")
        let database = KeychainDatabase(directory: home.keychain)
        try database.setPasscode("1234")
        for command in ["status", "sign-in bob"] {
            let report = try home.run("sign-in \(command)")
            #expect(report.hasPrefix("sign-in: Could not "), "\(report)")
            #expect(report.hasSuffix("(-25308)\n[4]\n"), "\(report)")
        }
        try database.removePasscode("1234")
        #expect(try home.run("sign-in status") == "signed in: alice\n")
    }

    @Test(arguments: ["keychain.db", "device.key"])
    func `a damaged keychain is reported and ends no program by a signal`(file: String) throws {
        let home = try Home(["sign-in"])
        #expect(try home.run("sign-in sign-in alice") == "signed in: alice\n")
        let path = home.keychain.appending(path: file)
        let size = try Data(contentsOf: path).count
        try Data(repeating: 0x55, count: size).write(to: path)
        for command in ["status", "sign-in bob", "sign-out"] {
            let report = try home.run("sign-in \(command)")
            #expect(report.hasPrefix("sign-in: Could not "), "\(report)")
            #expect(report.hasSuffix(")\n[1]\n"), "\(report)")
        }
    }

    @Test(arguments: ["", "sign-in", "status alice", "signin alice"])
    func `wrong usage is told`(arguments: String) throws {
        let home = try Home(["sign-in"])
        #expect(
            try home.run("sign-in \(arguments)")
                == "usage: sign-in sign-in USER | status | sign-out\n[64]\n")
        #expect(!FileManager.default.fileExists(atPath: home.keychain.path))
    }
}
