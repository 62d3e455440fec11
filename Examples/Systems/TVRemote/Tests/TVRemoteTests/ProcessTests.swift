// ProcessTests: the app, the widget and the program tv-stranger, each in a separate process. The
// app and the widget have the same entitlements; tv-stranger has none.

import ExampleTesting
import Foundation
import Testing

@testable import TVRemote

/// The entitlements file that app and widget share.
let entitlements = folder(ofSystem: "TVRemote").appending(
    path: "LG TV Remote Widget.entitlements")

/// A home directory with the programs, and a television that can be switched on.
func remoteHome() throws -> Home {
    try Home(
        ["tv-app", "tv-widget", "tv-stranger", "television", "keychainctl"],
        entitlements: ["tv-app": entitlements, "tv-widget": entitlements],
        portVariable: "LGTV_PORT")
}

extension Home {
    static let connect = "tv-app connect 127.0.0.1 34:E6:E6:F9:05:50"

    /// Switches the television on and pairs the app with it.
    func pair() throws {
        #expect(try run("television on") == "The television is on.\n")
        #expect(try run(Self.connect) == "Connected to 127.0.0.1.\n")
    }

    /// The key that the television issued. If it issued several, this is any of them.
    var clientKey: String {
        get throws {
            let data = try Data(contentsOf: url.appending(path: "television.json"))
            let keys = try JSONDecoder().decode([String: String].self, from: data)
            return try #require(keys.keys.first)
        }
    }
}

@Suite struct `Processes` {
    static let connected = """
        Connected to 127.0.0.1 (34:E6:E6:F9:05:50), paired.
        The app is connected; its last address is 127.0.0.1.

        """

    let home: Home

    init() throws { home = try remoteHome() }

    @Test func `the programs print the session of the README`() throws {
        try Session(readmeOf: "TVRemote").check(in: home)
    }

    @Test func `the widget asks for setup until the app has stored credentials, and then connects`()
        throws
    {
        #expect(try home.run("tv-widget") == "Setup Required\n")
        try home.pair()
        #expect(try home.run("tv-widget") == Self.connected)
        #expect(try home.run("tv-app show") == "127.0.0.1 (34:E6:E6:F9:05:50), paired\n")
        #expect(
            try home.run("television log") == String(repeating: "POST /register 200\n", count: 2))
    }

    @Test func `without stored credentials, the widget doesn't start a pairing`() throws {
        _ = try home.run("television on decline accept")
        #expect(try home.run(Home.connect).hasSuffix("[1]\n"))
        #expect(try home.run("tv-widget") == "Setup Required\n")
        #expect(try home.run("television log") == "POST /register 403\n")
    }

    @Test func `the item is in the access group that app and widget share`() throws {
        try home.pair()
        let info = try home.run(
            "keychainctl info --account default --service "
                + LGTVControlManager.Constants.keychainService)
        #expect(
            info.contains("group:           ABCDE12345.com.DaraConsultingInc.LGTVRemoteWidget\n"))
        #expect(info.contains("accessible:      after-first-unlock-this-device-only\n"))
    }

    @Test func `a program outside the group doesn't find the item, and can't access the group`()
        throws
    {
        try home.pair()
        let lines = try home.run("tv-stranger").split(separator: "\n")
        try #require(lines.count == 3)
        #expect(lines[0].hasPrefix("Without a group: -25300: "))
        #expect(lines[1].hasPrefix("In the app's group: -34018: "))
        #expect(lines[2] == "Adding, updating and deleting there: -34018, -34018, -34018")
        #expect(try home.run("tv-widget") == Self.connected)
    }

    @Test func `the variable KEYCHAIN_ENTITLEMENTS selects another entitlements file`() throws {
        try home.pair()
        #expect(
            try home.run("KEYCHAIN_ENTITLEMENTS=$PWD/bin/tv-app.entitlements tv-stranger")
                .hasPrefix("Without a group: 0: "))
    }

    @Test func `the entitlements list a keychain access group and an application group`() throws {
        let data = try Data(contentsOf: entitlements)
        let list = try PropertyListDecoder().decode(EntitlementList.self, from: data)
        #expect(
            list.accessGroups == ["$(AppIdentifierPrefix)com.DaraConsultingInc.LGTVRemoteWidget"])
        #expect(list.applicationGroups == ["group.com.DaraConsultingInc.LGTVRemoteWidget"])
        #expect(list.applicationGroups == [ConnectionStatus.suiteName])
    }

    @Test func `the client key is in no file but the television's, and in no output`() throws {
        try home.pair()
        let key = try home.clientKey
        #expect(try !home.keychainFilesContain(Data(key.utf8)))
        #expect(
            try home.run("grep -rl \(key) . | sort") == "./television.json\n")
        let output = try home.run("tv-app show; tv-widget; tv-stranger; television log")
        #expect(!output.contains(key))
    }

    // MARK: The status of the connection

    @Test func `the app's status is in the defaults of the application group`() throws {
        let file = ".config/group.com.DaraConsultingInc.LGTVRemoteWidget.plist"
        try home.pair()
        let text = try home.run("cat \(file)")
        #expect(text.contains("127.0.0.1"))
        #expect(try !text.contains(home.clientKey))
        _ = try home.run("television off")
        #expect(try home.run(Home.connect).hasSuffix("[1]\n"))
        #expect(
            try home.run("tv-widget") == """
                The television is off, or has another address. Turn it on, and check the address.
                The app is not connected; its last address is 127.0.0.1.

                """)
        #expect(try home.run("tv-app clear") == "Cleared.\n")
        #expect(try !home.run("cat \(file)").contains("127.0.0.1"))
        _ = try home.run("television on decline")
        #expect(try home.run(Home.connect).hasSuffix("[1]\n"))
        #expect(try home.run("tv-widget") == "Setup Required\n")
    }

    @Test func `the widget doesn't change the app's status`() throws {
        try home.pair()
        let file = ".config/group.com.DaraConsultingInc.LGTVRemoteWidget.plist"
        _ = try home.run("television off; cp \(file) before; tv-widget")
        #expect(try home.run("cmp \(file) before") == "")
    }

    // MARK: Pairing again

    @Test func `after a refused key is cleared, the app pairs again and gets a new key`() throws {
        try home.pair()
        let old = try home.clientKey
        _ = try home.run("television off; rm television.json television.log; television on")
        let refusal =
            "The television refused the stored key. Clear it in the app, and connect again.\n"
        #expect(try home.run(Home.connect) == "tv-app: \(refusal)[1]\n")
        #expect(try home.run("tv-widget").hasPrefix(refusal))
        #expect(try home.run("tv-app clear") == "Cleared.\n")
        #expect(try home.run("tv-widget") == "Setup Required\n")
        #expect(try home.run(Home.connect) == "Connected to 127.0.0.1.\n")
        #expect(try home.run("tv-widget") == Self.connected)
        #expect(
            try home.run("television log") == """
                POST /register 401
                POST /register 401
                POST /register 200
                POST /register 200

                """)
        #expect(try home.clientKey != old)
    }

    @Test func `a wrong command line prints the usage, and nothing is migrated`() throws {
        let folder = home.url.appending(path: ".config")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try PropertyListSerialization.data(
            fromPropertyList: ["clientKey": "k3y"], format: .xml, options: 0
        ).write(to: folder.appending(path: "tv-app.plist"))
        for words in ["", "connect 127.0.0.1", "show all", "forget"] {
            let output = try home.run("tv-app \(words)")
            #expect(output.hasPrefix("usage: tv-app connect IP-ADDRESS MAC-ADDRESS\n"))
            #expect(output.hasSuffix("[64]\n"))
        }
        #expect(try home.run("grep -c k3y .config/tv-app.plist") == "1\n")
        #expect(!FileManager.default.fileExists(atPath: home.keychain.path))
    }

    // MARK: An earlier release

    @Test func `at its start, the app migrates the client key of an earlier release`() throws {
        let key = "9ba71d29c353cf0bdcc00c4b0a8cc189"
        let old = ["clientKey": key, "ipAddress": "127.0.0.1", "macAddress": "34:E6:E6:F9:05:50"]
        let folder = home.url.appending(path: ".config")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try PropertyListSerialization.data(fromPropertyList: old, format: .xml, options: 0)
            .write(to: folder.appending(path: "tv-app.plist"))
        #expect(try home.run("grep -rl \(key) .config") == ".config/tv-app.plist\n")
        let shown = "127.0.0.1 (34:E6:E6:F9:05:50), paired\n"
        #expect(
            try home.run("tv-app show")
                == "Moved the client key of an earlier release to the keychain.\n\(shown)")
        #expect(try home.run("tv-app show") == shown)
        #expect(try home.run("grep -rl \(key) .") == "[1]\n")
        // The migrated key is correct: a television that knows this key accepts the widget.
        _ = try home.run("printf '{\"\(key)\":\"LG TV Remote\"}' >television.json; television on")
        #expect(
            try home.run("tv-widget").hasPrefix("Connected to 127.0.0.1 (34:E6:E6:F9:05:50)"))
    }

    @Test func `a failed migration is reported, and tried again at the next start`() throws {
        try home.pair()
        #expect(try home.run("tv-app clear") == "Cleared.\n")
        try PropertyListSerialization.data(
            fromPropertyList: ["clientKey": "k3y"], format: .xml, options: 0
        ).write(to: home.url.appending(path: ".config/tv-app.plist"))
        let output = try home.run(
            "mv .local/share/keychain/device.key elsewhere; tv-app show")
        #expect(output.hasPrefix("tv-app: The keychain answered -25295: "))
        #expect(output.hasSuffix("[1]\n"))
        #expect(try home.run("grep -c k3y .config/tv-app.plist") == "1\n")
        #expect(
            try home.run("mv elsewhere .local/share/keychain/device.key; tv-app show").hasPrefix(
                "Moved the client key of an earlier release to the keychain.\n"))
    }
}

/// The entries of an entitlements file that the tests examine.
private struct EntitlementList: Decodable {
    enum CodingKeys: String, CodingKey {
        case accessGroups = "keychain-access-groups"
        case applicationGroups = "com.apple.security.application-groups"
    }

    let accessGroups: [String]
    let applicationGroups: [String]
}
