// ConnectionStatusTests: the connection status in the defaults that app and widget share.

import Foundation
import Testing

@testable import TVRemote

/// The defaults of a temporary suite, which is removed after the test.
final class TemporaryDefaults {
    private let suiteName = "tv-remote-test-\(UUID().uuidString)"
    let defaults: UserDefaults

    init(_ values: [String: Any] = [:]) throws {
        defaults = try #require(UserDefaults(suiteName: suiteName))
        for (key, value) in values { defaults.set(value, forKey: key) }
        try #require(defaults.synchronize())
    }

    deinit {
        defaults.removePersistentDomain(forName: suiteName)
        defaults.synchronize()
        let folder = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"]
        // `removePersistentDomain` leaves a file without values behind.
        try? FileManager.default.removeItem(
            atPath: "\(folder ?? NSHomeDirectory() + "/.config")/\(suiteName).plist")
    }

    /// The value that another program reads.
    func stored(_ key: String) -> Any? { UserDefaults(suiteName: suiteName)?.object(forKey: key) }
}

@Suite struct `Connection status` {
    static let all = [
        ConnectionStatus(isConnected: true, lastAddress: "10.0.0.14"),
        ConnectionStatus(isConnected: false, lastAddress: "10.0.0.14"), ConnectionStatus(),
    ]

    @Test(arguments: all, all)
    func `a saved status replaces any earlier one and is read unchanged`(
        _ status: ConnectionStatus, _ earlier: ConnectionStatus
    ) throws {
        let temporary = try TemporaryDefaults()
        earlier.save(in: temporary.defaults)
        status.save(in: temporary.defaults)
        #expect(ConnectionStatus(in: temporary.defaults) == status)
        #expect(temporary.stored("isConnected") as? Bool == status.isConnected)
        #expect(temporary.stored("lastAddress") as? String == status.lastAddress)
    }

    @Test func `without a stored status, the app counts as not connected`() throws {
        let temporary = try TemporaryDefaults()
        #expect(ConnectionStatus(in: temporary.defaults) == ConnectionStatus())
        #expect(ConnectionStatus().isConnected == false)
    }
}
