// WatchdogTests: the service notifies systemd's watchdog only while its worker threads make
// progress.

import Dispatch
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import Synchronization
import TestPrograms
import Testing

@testable import KeychainDaemon

@Suite struct WatchdogTests {
    @Test func `the watchdog isn't notified while the worker is blocked`() throws {
        let workers = Workers(count: 1)
        defer { workers.stop() }
        let notifications = Mutex(0)
        let watchdog = Watchdog(workers.probe) { notifications.withLock { $0 += 1 } }
        watchdog.ask()
        try eventually("the first notification") { notifications.withLock { $0 } == 1 }
        let begun = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        workers.run(for: .user(7)) {
            begun.signal()
            gate.wait()
        }
        begun.wait()
        // These calls of `ask` lead to one notification, after the worker continues.
        for _ in 0..<100 { watchdog.ask() }
        #expect(notifications.withLock { $0 } == 1)
        gate.signal()
        try eventually("the second notification") { notifications.withLock { $0 } == 2 }
        watchdog.ask()
        try eventually("the third notification") { notifications.withLock { $0 } == 3 }
    }

    @Test func `a service with a watchdog notifies it regularly`() throws {
        let folder = try TemporaryFolder()
        let notices = folder.path + "/notify"
        let manager = try DatagramSocket(notices)
        let program = try TestProgram(
            path: try #require(TestProgram.path(of: "keychaind")),
            [
                "--directory", folder.path + "/keychain", "--socket", folder.path + "/run/socket",
                "--registry", folder.path + "/programs", "--log-level", "warning",
            ], environment: ["NOTIFY_SOCKET": notices, "WATCHDOG_USEC": "100000"])
        #expect(try manager.text() == "READY=1\nSTATUS=Ready")
        for _ in 0..<3 {
            #expect(try manager.text() == "WATCHDOG=1\nSTATUS=0 connections")
        }
        do {
            let client = ServiceClient(socketPath: folder.path + "/run/socket")
            _ = try client.perform(HasPasscode())
            try eventually("a notification counts the connection") {
                try manager.text() == "WATCHDOG=1\nSTATUS=1 connection"
            }
            withExtendedLifetime(client) {}
        }
        program.send(SIGTERM)
        var last = ""
        while last != "STOPPING=1\nSTATUS=Ending" { last = try manager.text() }
        #expect(program.endedWell)
    }
}
