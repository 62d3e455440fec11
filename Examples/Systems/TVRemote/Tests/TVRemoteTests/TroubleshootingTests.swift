// TroubleshootingTests: each problem in the README's troubleshooting section occurs with its cause,
// and disappears after its remedy.

import ExampleTesting
import Foundation
import Testing

@testable import TVRemote

@Suite struct `Troubleshooting` {
    let home: Home

    init() throws {
        home = try remoteHome()
        try home.pair()
    }

    @Test func `a widget without the entitlements can't access the credentials`() throws {
        let file = "bin/tv-widget.entitlements"
        #expect(try home.run("mv \(file) list; tv-widget") == "Setup Required\n")
        // A different group has the same effect as a missing entitlements file.
        _ = try home.run("sed s/LGTVRemoteWidget/OtherWidget/ list >\(file)")
        #expect(try home.run("tv-widget") == "Setup Required\n")
        #expect(try home.run("mv list \(file); tv-widget") == Processes.connected)
    }

    @Test func `an entitlements file that isn't a valid property list gives -34018`() throws {
        let file = "bin/tv-widget.entitlements"
        let output = try home.run("cp \(file) list; echo '<plist>' >\(file); tv-widget")
        #expect(output.hasPrefix("tv-widget: The keychain answered -34018: "))
        #expect(output.hasSuffix("\n[1]\n"))
        #expect(try home.run("mv list \(file); tv-widget") == Processes.connected)
    }

    @Test func `a program that names a group outside its entitlements gets -34018`() throws {
        let stranger = "bin/tv-stranger.entitlements"
        _ = try home.run("sed s/LGTVRemoteWidget/Stranger/ bin/tv-app.entitlements >\(stranger)")
        #expect(try home.run("tv-stranger").contains("\nIn the app's group: -34018: "))
        _ = try home.run("cp bin/tv-app.entitlements \(stranger)")
        #expect(try home.run("tv-stranger").contains("\nIn the app's group: 0: "))
    }

    @Test func `after the credentials are cleared, -25300 is not reported as an error`() throws {
        let list = "KEYCHAIN_ENTITLEMENTS=$PWD/bin/tv-app.entitlements"
        #expect(try home.run("tv-app clear") == "Cleared.\n")
        let before = try home.run("\(list) tv-stranger").split(separator: "\n")
        try #require(before.count == 3)
        #expect(before[0].hasPrefix("Without a group: -25300: "))
        #expect(before[1].hasPrefix("In the app's group: -25300: "))
        _ = try home.run("tv-app clear")
        #expect(try home.run("tv-app show") == "No television.\n")
        #expect(try home.run("tv-app clear") == "Cleared.\n")
        #expect(try home.run(Home.connect) == "Connected to 127.0.0.1.\n")
        #expect(try home.run("tv-app show") == "127.0.0.1 (34:E6:E6:F9:05:50), paired\n")
    }

    @Test func `a keychain that can't be read is reported as an error, not as "Setup Required"`()
        throws
    {
        let key = ".local/share/keychain/device.key"
        let output = try home.run("mv \(key) elsewhere; tv-widget")
        #expect(output.hasPrefix("tv-widget: The keychain answered -25295: "))
        #expect(output.hasSuffix("\n[1]\n"))
        #expect(try home.run(Home.connect).hasPrefix("tv-app: The keychain answered -25295: "))
        #expect(
            try home.run("mv elsewhere \(key); tv-widget")
                .hasPrefix("Connected to 127.0.0.1 (34:E6:E6:F9:05:50), paired.\n"))
    }
}
