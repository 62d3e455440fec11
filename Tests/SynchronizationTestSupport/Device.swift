// Device: a machine with a keychain, in memory or in a folder, and a relay to a shared server.

import Foundation
package import KeychainCore
package import KeychainCrypto
package import KeychainEngine
package import KeychainRelay
import KeychainSQLite
package import KeychainSynchronization
import KeychainSynchronizer
import Synchronization

/// A clock that a test sets, in seconds since 2001-01-01.
package final class TestClock: Sendable {
    private let state = Mutex(800_000_000.0)

    package var now: Double {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    package init() {}
}

package final class Device: Sendable {
    package let name: String
    private let server: any RecordStore
    package let clock: TestClock
    private let place: Place
    private let hardware: (any KeyHardware)?
    private let opened: Mutex<KeychainEngine>

    private enum Place: Sendable {
        case memory(MemoryPlace)
        /// The path of a folder.
        case folder(String)
    }

    package static let group = "group"
    package static let caller = AccessGroups([group, "other"])

    /// A machine whose keychain is in the folder with this path. The keychain is created if there
    /// is none. Without a path, the machine gets a new keychain in memory. `hardware` is the
    /// machine's chip.
    package init(
        _ name: String, _ server: any RecordStore, clock: TestClock = TestClock(),
        folder: String? = nil, hardware: (any KeyHardware)? = nil
    ) throws {
        self.name = name
        self.server = server
        self.clock = clock
        place = try folder.map { .folder($0) } ?? .memory(MemoryPlace())
        self.hardware = hardware
        opened = Mutex(try Self.open(place, clock, hardware))
    }

    private static func open(
        _ place: Place, _ clock: TestClock, _ hardware: (any KeyHardware)?
    ) throws -> KeychainEngine {
        var options = EngineOptions.testing
        options.hardware = hardware
        options.now = { clock.now }
        options.synchronization = { Synchronizer() }
        return switch place {
        case .memory(let memory): try KeychainEngine.open(memory, options: options)
        case .folder(let path): try KeychainEngine.open(directory: path, options: options)
        }
    }

    package var engine: KeychainEngine { opened.withLock { $0 } }

    /// Opens the keychain with a new engine, as after a restart of the process.
    package func restart() throws {
        let engine = try Self.open(place, clock, hardware)
        opened.withLock { $0 = engine }
    }

    package var relay: Relay { relay(through: server) }

    /// A relay between this machine's keychain and any server, not only the machine's usual one.
    package func relay(through server: any RecordStore, absenceLimit: Int64 = 0) -> Relay {
        Relay(server, absenceLimit: absenceLimit) { request throws(KeychainFailure) in
            try self.engine.perform(request, as: AccessGroups([]))
        }
    }

    /// Runs the relay until the task is canceled or the keychain is in no circle.
    package func runRelay() async throws {
        let (changes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let subscription = try engine.subscribe { continuation.yield() }
        defer { subscription.end() }
        try await relay.run(localChanges: changes) { _ in true }
    }

    // MARK: The circle

    @discardableResult
    package func settle() async throws -> Demand { try await relay.settle() }

    package func status() async throws -> CircleStatus { try await relay.status() }

    package func found(recovery: RecoveryCode? = nil) async throws {
        _ = try await relay.send(.found(name: name), secret: recovery?.bytes)
        try await settle()
    }

    /// Adds a machine, without the exchange in which people would compare digits.
    package func add(_ other: Device, groups: [String]? = nil) async throws {
        let description = try await other.relay.send(.describe).message
        _ = try await relay.send(.add(machine: description, name: other.name, groups: groups))
        try await settle()
        try await other.joinListed()
        try await settle()
        try await other.settle()
    }

    /// Joins the circle on the server. The circle's membership log already names this machine.
    package func joinListed() async throws {
        let membership = try await server.allRecords("").filter { $0.key.contains("/m/") }
            .map { Data($0.value) }
        _ = try await relay.send(.join(membership: membership))
        try await settle()
    }

    /// Joins the circle on the server with its recovery code.
    package func recover(_ code: RecoveryCode) async throws {
        let circles = try await CircleDirectory(server).circles()
        guard let circle = circles.first else { throw JoiningFailure.noCircle }
        try await RecoveryJoiner(relay, circle: circle).join(code)
        try await settle()
    }

    package func circle() async throws -> CircleID {
        guard let digest = Digest(try await status().circle) else {
            throw JoiningFailure.noCircle
        }
        return CircleID(digest)
    }

    package func id() async throws -> Bytes16 {
        try await status().machines.first { $0.isThisOne }?.id ?? Bytes16(high: 0, low: 0)
    }

    // MARK: Items

    package func set(
        _ account: String, _ value: String, group: String = Device.group,
        protection: ProtectionClass = .whenUnlocked, isSynchronizable: Bool = true
    ) throws {
        clock.now += 1
        let attributes: Attributes = [.service: .string("s"), .account: .string(account)]
        let item = NewItem(
            itemClass: .genericPassword, attributes: attributes, accessGroup: group,
            protection: protection, isSynchronizable: isSynchronizable, data: Data(value.utf8))
        try engine.perform(
            PutItem(
                item,
                orChange: Self.query(account, group: group, isSynchronizable: isSynchronizable),
                ItemChanges(data: Data(value.utf8))), as: Self.caller)
    }

    package func delete(_ account: String, tombstones: TombstonePolicy = .automatic) throws {
        clock.now += 1
        try engine.perform(
            DeleteItems(Self.query(account), tombstones: tombstones), as: Self.caller)
    }

    /// Changes an item's value, and moves the item to a class of *this device only*. The item is
    /// then no longer synchronized.
    package func makeLocal(_ account: String, _ value: String) throws {
        clock.now += 1
        try engine.perform(
            UpdateItems(
                Self.query(account),
                ItemChanges(
                    protection: .whenUnlockedThisDeviceOnly, data: Data(value.utf8))),
            as: Self.caller)
    }

    package static func query(
        _ account: String? = nil, group: String? = nil, isSynchronizable: Bool? = true
    ) -> ItemQuery {
        var attributes: Attributes = [.service: .string("s")]
        if let account { attributes[.account] = .string(account) }
        return ItemQuery(
            itemClass: .genericPassword, attributes: attributes, accessGroup: group,
            isSynchronizable: isSynchronizable)
    }

    /// Accounts and values of all items that ``caller`` may see.
    package func values() throws -> [String: String] {
        do throws(KeychainFailure) {
            let items = try engine.perform(
                FindItems(
                    Self.query(isSynchronizable: nil), Retrieval(limit: nil, includesData: true)),
                as: Self.caller)
            var values: [String: String] = [:]
            for item in items {
                guard case .string(let account) = item.attributes[.account] else { continue }
                values[account] = String(decoding: item.data ?? Data(), as: UTF8.self)
            }
            return values
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return [:]
        }
    }
}

/// Lets the devices settle in turn, four times each. In these tests, that is enough for all changes
/// to reach all devices.
package func converge(_ devices: Device...) async throws {
    for _ in 0..<4 {
        for device in devices { try await device.settle() }
    }
}
