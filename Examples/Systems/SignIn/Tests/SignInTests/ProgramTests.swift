// ProgramTests: the program sign-in. Each run of the program stands for one launch of the app. The
// tests check the console session in README.md, the responses of the sign-in service, and keychains
// that fail.

import ExampleTesting
import Foundation
import Testing

@Suite struct `Program sign-in` {
    static let names = ["sign-in", "sign-in-service", "keychainctl"]
    static let entitlements = folder(ofSystem: "SignIn").appending(path: "sign-in.entitlements")

    let home: Home

    init() throws {
        home = try Home(
            Self.names, entitlements: ["sign-in": Self.entitlements],
            portVariable: "SIGN_IN_PORT")
    }

    /// Signs in, and returns the line that reports the sign-in.
    private func signIn(_ account: String = "alice") throws -> String {
        let report = try home.run("sign-in sign-in \(account)")
        let lines = report.split(separator: "\n").map(String.init)
        try #require(lines.count == 2 && lines[0] == "signing in…", "\(report)")
        #expect(lines[1].hasPrefix("signed in: 001234."))
        return lines[1] + "\n"
    }

    private func turnOn(_ answers: String = "succeed") throws {
        #expect(
            try home.run("sign-in-service on \(answers)") == "The sign-in-service is on.\n")
    }

    @Test func `the program prints the session of the README`() throws {
        try Session(readmeOf: "SignIn").check(in: home)
    }

    @Test func `other processes restore the session until a process signs out`() throws {
        try turnOn()
        #expect(try home.run("sign-in status") == "signed out\n")
        let alice = try signIn("alice")
        #expect(try home.run("sign-in status") == alice)
        let bob = try signIn("bob")
        #expect(bob != alice)
        #expect(try home.run("sign-in status") == bob)
        #expect(try home.run("sign-in sign-out") == "signed out\n")
        #expect(try home.run("sign-in status") == "signed out\n")
        #expect(try home.run("sign-in sign-out") == "signed out\n")
    }

    @Test func `the session remains if the program is removed and installed again`() throws {
        try turnOn()
        let alice = try signIn()
        _ = try home.run("mkdir package && ln bin/sign-in bin/sign-in.entitlements package")
        _ = try home.run("rm bin/sign-in bin/sign-in.entitlements")
        #expect(try home.run("ls bin") == "keychainctl\nsign-in-service\n")
        #expect(try home.run("ln package/* bin && sign-in status") == alice)
    }

    @Test(arguments: [nil, "application-identifier", "keychain-access-groups"])
    func `a program without the app's entitlements does not see the session`(key: String?) throws {
        try turnOn()
        let alice = try signIn()
        // Run the same program as a different app.
        _ = try home.run("ln bin/sign-in bin/other-app")
        if let key {
            let group = "ABCDE12345.com.example.other"
            let list: [String: Any] = [
                key: key == "application-identifier" ? group as Any : [group] as Any
            ]
            try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
                .write(to: home.url.appending(path: "bin/other-app.entitlements"))
        }
        #expect(try home.run("other-app status") == "signed out\n")
        #expect(try home.run("other-app sign-out") == "signed out\n")
        #expect(try home.run("sign-in status") == alice)
        // With the app's entitlements, the program counts as the app, because only entitlements
        // identify an app.
        _ = try home.run("ln -f bin/sign-in.entitlements bin/other-app.entitlements")
        #expect(try home.run("other-app status") == alice)
    }

    @Test func `the entitlements name the app and its group, and no other group`() throws {
        let data = try Data(contentsOf: Self.entitlements)
        let list = try PropertyListSerialization.propertyList(from: data, format: nil)
        let entitlements = try #require(list as? [String: Any])
        let app = "$(AppIdentifierPrefix)com.steeven.mysubguard"
        #expect(entitlements["application-identifier"] as? String == app)
        #expect(entitlements["keychain-access-groups"] as? [String] == [app])
        #expect(entitlements["com.apple.security.application-groups"] == nil)
    }

    @Test func `a save is logged to the console without its value`() throws {
        try turnOn()
        let report = try home.run("sign-in --verbose sign-in alice 2>console")
        let user = try #require(report.split(separator: " ").last).trimmingCharacters(
            in: .newlines)
        #expect(user.hasPrefix("001234."))
        let console = try home.run("cat console")
        #expect(console.contains("com.steeven.mysubguard"))
        #expect(console.contains("save userIdentifier: 0\n"))
        #expect(!console.contains("001234"))
        #expect(!console.contains("alice"))
        // Without the option `--verbose`, nothing is logged to the console.
        #expect(try home.run("sign-in status 2>&1 >/dev/null") == "")
    }

    @Test func `the keychain's files don't contain the identifier or names in plaintext`() throws {
        try turnOn()
        let user = String(try signIn().dropFirst("signed in: ".count).dropLast())
        for text in [user, "com.steeven.mysubguard", "userIdentifier"] {
            #expect(try !home.keychainFilesContain(Data(text.utf8)), "\(text)")
        }
    }

    @Test func `processes that sign in at the same time leave one session`() throws {
        try turnOn()
        let users = [try signIn("alice"), try signIn("bob")]
        _ = try home.run("sign-in sign-out")
        let report = try home.run(
            """
            for n in 1 2 3 4; do
                sign-in sign-in alice >>a 2>&1 & sign-in sign-in bob >>a 2>&1 &
            done
            wait; sort a | uniq -c | tr -s ' '
            """)
        let lines = [" 4 \(users[0])", " 4 \(users[1])", " 8 signing in…\n"]
        #expect(report == lines.sorted().joined())
        #expect(users.contains(try home.run("sign-in status")))
        #expect(try home.run("sign-in sign-out; sign-in status") == "signed out\nsigned out\n")
    }

    // MARK: Responses of the sign-in service

    @Test func `a cancelled sign-in doesn't change the session and prints no error`() throws {
        try turnOn("cancel succeed cancel")
        #expect(try home.run("sign-in sign-in alice") == "signing in…\nsigned out\n")
        let alice = try signIn()
        #expect(try home.run("sign-in sign-in bob") == "signing in…\n\(alice)")
        #expect(try home.run("sign-in status") == alice)
    }

    @Test func `a failed sign-in is reported, and the next one succeeds`() throws {
        try turnOn("fail slow")
        #expect(
            try home.run("sign-in sign-in alice") == """
                signing in…
                sign-in: The sign-in service failed (500). Try again.
                [1]

                """)
        #expect(try home.run("sign-in status") == "signed out\n")
        let alice = try signIn()
        #expect(try home.run("sign-in status") == alice)
    }

    // MARK: Keychains that fail

    @Test func `a locked keychain is reported, and removing the passcode restores the session`()
        throws
    {
        try turnOn()
        let alice = try signIn()
        #expect(try home.run("echo 1234 | keychainctl passcode set --weak --fd 0") == "")
        for command in ["status", "sign-in bob"] {
            #expect(
                try home.run("sign-in \(command)") == "sign-in: Keychain error: -25308\n[4]\n")
        }
        #expect(
            try home.run("echo 1234 | keychainctl passcode remove --passcode-fd 0 --yes")
                == "The passcode was removed. Deleted 0 items.\n")
        #expect(try home.run("sign-in status") == alice)
    }

    @Test(arguments: ["keychain.db", "device.key"])
    func `a damaged keychain is reported and doesn't crash the program`(file: String) throws {
        try turnOn()
        _ = try signIn()
        let path = home.keychain.appending(path: file)
        let size = try Data(contentsOf: path).count
        try Data(repeating: 0x55, count: size).write(to: path)
        for command in ["status", "sign-in bob", "sign-out"] {
            let report = try home.run("sign-in \(command)")
            #expect(
                report.wholeMatch(of: /sign-in: Keychain error: -\d+\n\[1\]\n/) != nil,
                "\(report)")
        }
    }

    @Test func `a copy of the keychain's folder without the device key can't be opened`() throws {
        try turnOn()
        let alice = try signIn()
        let other = try Home(["sign-in"], entitlements: ["sign-in": Self.entitlements])
        _ = try home.run("mkdir -p '\(other.url.path)/.local/share'")
        _ = try home.run("cp -R .local/share/keychain '\(other.url.path)/.local/share'")
        _ = try other.run("rm .local/share/keychain/device.key")
        let report = try other.run("sign-in status")
        #expect(report.wholeMatch(of: /sign-in: Keychain error: -\d+\n\[1\]\n/) != nil)
        #expect(try home.run("sign-in status") == alice)
    }

    @Test(arguments: [
        "", "status alice", "signin alice", "sign-in alice bob", "--verbose", "sign-out now",
    ])
    func `wrong usage is reported, and no keychain is created`(arguments: String) throws {
        let report = try home.run("sign-in \(arguments)")
        #expect(report.hasPrefix("usage: sign-in [--verbose] sign-in [ACCOUNT]"))
        #expect(report.hasSuffix("\n[64]\n"))
        #expect(!FileManager.default.fileExists(atPath: home.keychain.path))
    }
}
