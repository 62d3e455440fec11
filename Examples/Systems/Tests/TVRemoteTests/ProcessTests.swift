// App, widget and stranger: three processes, told apart by the property lists beside them.

import ExampleTesting
import Foundation
import Keychain
import Testing

@testable import TVRemote

@Suite struct `Three processes` {
    static let pairing = "echo k3y-of-the-tv | tv-app pair 192.168.1.20 A8:23:FE:01:02:03"

    let home: Home

    init() throws {
        home = try Home(["tv-app", "tv-widget", "tv-stranger"])
    }

    @Test func `the session of the README is what the programs print`() throws {
        try Session("TV remote", in: packageDirectory.appending(path: "README.md")).check(in: home)
    }

    @Test func `the widget reads what the app has saved`() throws {
        #expect(try home.run("tv-widget") == "Pair a television in the app.\n")
        #expect(try home.run(Self.pairing) == "Paired with 192.168.1.20.\n")
        #expect(
            try home.run("tv-widget")
                == "[on/off]  192.168.1.20 (A8:23:FE:01:02:03), paired\n")
    }

    @Test func `they share the item through the group of their entitlements`() throws {
        _ = try home.run(Self.pairing)
        func manager(_ groups: [String]) -> KeychainManager {
            KeychainManager(
                accessGroup: groups.first,
                in: KeychainDatabase(directory: home.keychain, accessGroups: groups))
        }
        #expect(
            try manager(["ABCDE12345.com.DaraConsultingInc.LGTVRemote.shared"])
                .loadCredentials() == .paired)
        for group in [
            "ABCDE12345.com.DaraConsultingInc.LGTVRemote",
            "ABCDE12345.com.DaraConsultingInc.LGTVRemoteWidget",
            "group.com.DaraConsultingInc.LGTVRemote", "default",
        ] {
            #expect(try manager([group]).loadCredentials() == nil)
        }
    }

    @Test func `a stranger is denied the group and doesn't see the item without it`() throws {
        _ = try home.run(Self.pairing)
        #expect(
            try home.run("tv-stranger") == """
                Without a group: no such item
                Naming the group: The secret could not be loaded: the program may not use this \
                access group (-34018).

                """)
    }

    @Test func `a program that lost its entitlements is a stranger`() throws {
        _ = try home.run(Self.pairing)
        _ = try home.run("rm bin/tv-widget.entitlements")
        let output = try home.run("tv-widget")
        #expect(output.contains("(-34018)") && output.hasSuffix("[1]\n"))
    }

    @Test func `the variable KEYCHAIN_ENTITLEMENTS names another list`() throws {
        _ = try home.run(Self.pairing)
        home.environment["KEYCHAIN_ENTITLEMENTS"] =
            Home.entitlements(of: "tv-widget").path
        #expect(try home.run("tv-stranger").contains("Naming the group: 192.168.1.20"))
    }

    @Test(arguments: ["tv-app", "tv-widget"])
    func `the entitlements are property lists with both kinds of groups`(_ name: String) throws {
        let data = try Data(contentsOf: Home.entitlements(of: name))
        let list = try PropertyListDecoder().decode(EntitlementList.self, from: data)
        #expect(
            list.accessGroups.contains(
                "$(AppIdentifierPrefix)com.DaraConsultingInc.LGTVRemote.shared"))
        #expect(list.applicationGroups == [KeychainManager.sharedDefaultsSuite])
    }

    @Test func `an app that starts brings the credentials of an earlier release over`() throws {
        let folder = home.url.appending(path: ".config")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "\(KeychainManager.sharedDefaultsSuite).plist")
        let old = [
            KeychainManager.legacyDefaultsKey: try JSONEncoder().encode(TVCredentials.paired)
        ]
        try PropertyListSerialization.data(fromPropertyList: old, format: .xml, options: 0)
            .write(to: file)
        #expect(try home.run("grep -rl TVCredentials .config").hasSuffix("Remote.plist\n"))
        let shown = "192.168.1.20 (A8:23:FE:01:02:03), paired\n"
        #expect(
            try home.run("tv-app show") == "Credentials of an earlier release: migrated.\n\(shown)")
        #expect(try home.run("tv-app show") == shown)
        #expect(try home.run("tv-widget") == "[on/off]  \(shown)")
        #expect(try home.run("grep -rl TVCredentials .config") == "[1]\n")
    }
}

/// What the tests look at in a list.
private struct EntitlementList: Decodable {
    enum CodingKeys: String, CodingKey {
        case accessGroups = "keychain-access-groups"
        case applicationGroups = "com.apple.security.application-groups"
    }

    let accessGroups: [String]
    let applicationGroups: [String]
}
