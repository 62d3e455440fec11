// circle-figures: measures what synchronization costs a save; how fast changes travel between
// machines through etcd, compared with etcd alone; how soon a new machine has 10,000 items; and how
// many changes a second eight machines can make. Three nodes of etcd, with TLS, a user and a
// password, run on this computer, and so do all machines of the circles.

#if Synchronization

import EtcdTestSupport
import Foundation
import KeychainCore
import KeychainEngine
import KeychainEtcd
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport

struct Figures {
    static let user = EtcdCluster.User(name: "figures", password: "of figures", prefix: "f/")
    let cluster: EtcdCluster
    let folder: URL

    func client() async throws -> EtcdClient {
        try EtcdClient(
            await cluster.configuration(prefix: Self.user.prefix, user: Self.user))
    }

    /// A machine with a keychain on the disk.
    func device(_ name: String) async throws -> Device {
        let clock = TestClock()
        clock.now = Date().timeIntervalSinceReferenceDate
        return try Device(
            name, EtcdStore(try await client()), clock: clock,
            folder: folder.appending(path: name).path)
    }

    static func print(_ what: String, _ figure: String) {
        Swift.print(what.padding(toLength: 62, withPad: " ", startingAt: 0) + figure)
    }

    static func milliseconds(_ durations: [Duration]) -> String {
        let sorted = durations.sorted()
        let (median, late) = (sorted[sorted.count / 2], sorted[sorted.count * 95 / 100])
        return String(
            format: "median %.1f ms, 95 %% within %.1f ms", median / .milliseconds(1),
            late / .milliseconds(1))
    }

    /// Measures how long a put takes, and the time until another client's watch shows it.
    func measureEtcd() async throws {
        let (writer, reader) = (try await client(), try await client())
        let page = try await reader.range("", limit: 1)
        var events = reader.watch("probe/", from: page.revision + 1).makeAsyncIterator()
        var (puts, shown): ([Duration], [Duration]) = ([], [])
        for number in 0..<200 {
            let start = ContinuousClock.now
            _ = try await writer.putIfAbsent(
                EtcdKey("probe/\(number)"), Array(repeating: 7, count: 700))
            puts.append(start.duration(to: .now))
            _ = try await events.next()
            shown.append(start.duration(to: .now))
        }
        Self.print("etcd: a put of 700 bytes", Self.milliseconds(puts))
        Self.print("etcd: from a put to another client's watch", Self.milliseconds(shown))
    }

    /// Searches for a value until it has arrived. Gives up after 100,000 attempts, which take at
    /// least ten seconds.
    ///
    /// - Returns: Whether the value arrived.
    func waitFor(_ account: String, _ value: String, on device: Device) async throws -> Bool {
        let query = Device.query(account, group: Device.group)
        for _ in 0..<100_000 {
            let found = try? device.engine.perform(
                FindItems(query, Retrieval(includesData: true)), as: Device.caller)
            if found?.first?.data == Data(value.utf8) { return true }
            try await Task.sleep(for: .microseconds(100))
        }
        return false
    }

    /// Measures the cost of synchronization for a save, if possible with keychains in memory.
    func measureSaves() async throws -> Bool {
        let memory = URL(filePath: "/dev/shm")
        let isInMemory = FileManager.default.isWritableFile(atPath: memory.path)
        let place = (isInMemory ? memory : folder).appending(
            path: "save-cost-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: place) }
        // Saves don't wait for the server, so this circle needs no etcd.
        let one = try Device(
            "saves", MemoryStore(), folder: place.appending(path: "circle").path)
        try await one.found()
        return try SaveCost(in: place, one).measure()
    }

    func measureTravel(_ one: Device, _ two: Device) async throws -> Bool {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for device in [one, two] { group.addTask { try await device.runRelay() } }
            try one.set("probe", "first")
            guard try await waitFor("probe", "first", on: two) else { return false }
            var travels: [Duration] = []
            for number in 0..<200 {
                let start = ContinuousClock.now
                try one.set("probe", "\(number)")
                guard try await waitFor("probe", "\(number)", on: two) else { return false }
                travels.append(start.duration(to: .now))
            }
            Self.print(
                "from a save on one machine to a load on another", Self.milliseconds(travels))
            return travels.sorted()[travels.count / 2] <= .milliseconds(50)
        }
    }

    func measureFreshMachine(_ one: Device) async throws -> Bool {
        let count = 10_000
        let before = try await cluster.databaseByteCount()
        for number in 0..<count { try one.set("item \(number)", "a password of that item") }
        var start = ContinuousClock.now
        try await one.settle()
        Self.print(
            "10,000 items from a machine to etcd",
            String(format: "%.2f s", start.duration(to: .now) / .seconds(1)))
        let after = try await cluster.databaseByteCount()
        Self.print(
            "growth of etcd's database for each of them",
            "\((after - before) / Int64(count)) bytes")
        let fresh = try await device("fresh")
        start = .now
        try await one.add(fresh)
        try await fresh.settle()
        let duration = start.duration(to: .now)
        let isWhole = try fresh.values().count >= count
        Self.print(
            "10,000 items to a machine that joins",
            String(format: "%.2f s", duration / .seconds(1)) + (isWhole ? "" : ", NOT ALL"))
        return isWhole && duration <= .seconds(5)
    }

    // MARK: Load

    /// The largest number of changes that may wait on a machine, counted after every tenth change
    /// of that machine.
    static let backlogLimit = 100
    /// The longest time that may pass between the last change and its arrival on every machine.
    static let restLimit = Duration.seconds(2)

    /// Eight machines of one circle.
    func eightDevices() async throws -> [Device] {
        let first = try await device("load 0")
        try await first.found()
        var devices = [first]
        for number in 1..<8 {
            let other = try await device("load \(number)")
            let description = try await other.relay.send(.describe).message
            _ = try await first.relay.send(
                .add(machine: description, name: other.name, groups: nil))
            try await first.settle()
            let circle = Hexadecimal(try await first.status().circle)
            let log = try await EtcdStore(try await client()).allRecords("\(circle)/m/")
            _ = try await other.relay.send(.join(membership: log.map { Data($0.value) }))
            devices.append(other)
        }
        return devices
    }

    /// The outcome of changes at one rate.
    struct Load {
        var backlog = 0
        /// Whether each machine made its changes in less than 105 % of the planned time.
        var isInTime = true
        /// The time from the last change until each machine has the changes of all others.
        var rest = Duration.zero
        var isHeld: Bool {
            isInTime && backlog <= Figures.backlogLimit && rest <= Figures.restLimit
        }
    }

    /// Saves on all machines during the same period, on each at regular intervals. Meanwhile,
    /// counts the changes that wait on each machine.
    ///
    /// - Returns: The outcome, or `nil` if a machine doesn't get the changes of all others.
    func load(_ devices: [Device], rate: Int, seconds: Int) async throws -> Load? {
        var load = try await change(devices, rate: rate, seconds: seconds)
        guard let rest = try await drain(devices, rate: rate, seconds: seconds) else { return nil }
        load.rest = rest
        return load
    }

    private func change(_ devices: [Device], rate: Int, seconds: Int) async throws -> Load {
        let interval = Duration.seconds(1) * Double(devices.count) / Double(rate)
        let (start, count) = (ContinuousClock.now, rate * seconds / devices.count)
        return try await withThrowingTaskGroup(of: Load.self) { group in
            for (index, device) in devices.enumerated() {
                group.addTask {
                    var load = Load()
                    for number in 0..<count {
                        // The machines take turns instead of all saving at the same moment.
                        let shift = interval * Double(index) / Double(devices.count)
                        try await Task.sleep(until: start + interval * Double(number) + shift)
                        try device.set("load \(index) \(number % 50)", "\(rate) \(number)")
                        if number % 10 == 9 {
                            load.backlog = max(load.backlog, try device.engine.outbox().count)
                        }
                    }
                    load.isInTime = start.duration(to: .now) < .seconds(seconds) * 1.05
                    return load
                }
            }
            return try await group.reduce(into: Load()) {
                $0.backlog = max($0.backlog, $1.backlog)
                $0.isInTime = $0.isInTime && $1.isInTime
            }
        }
    }

    /// Waits until each machine has the last change of every machine.
    ///
    /// - Returns: How long that took, or `nil` if a machine doesn't get one of these changes.
    private func drain(_ devices: [Device], rate: Int, seconds: Int) async throws -> Duration? {
        let (start, last) = (ContinuousClock.now, rate * seconds / devices.count - 1)
        for other in devices {
            for index in devices.indices {
                guard
                    try await waitFor("load \(index) \(last % 50)", "\(rate) \(last)", on: other)
                else { return nil }
            }
        }
        return start.duration(to: .now)
    }

    /// Measures the highest rate of changes that eight machines sustain for a minute, in steps of
    /// 25 % from 40 changes a second. Only rates that were sustained for five seconds are tried
    /// for a minute.
    ///
    /// - Returns: Whether one of the rates was sustained for a minute.
    func measureLoad() async throws -> Bool {
        let devices = try await eightDevices()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for device in devices { group.addTask { try await device.runRelay() } }
            var held: [Int] = []
            var rate = 40
            while true {
                guard let load = try await load(devices, rate: rate, seconds: 5) else {
                    return false
                }
                guard load.isHeld else { break }
                held.append(rate)
                rate = rate * 5 / 4
            }
            for rate in held.reversed() {
                guard let load = try await load(devices, rate: rate, seconds: 60) else {
                    return false
                }
                guard load.isHeld else { continue }
                Self.print(
                    "changes a second from eight machines, for 60 s",
                    "\(rate), at most \(load.backlog) changes wait on a machine, and the last one "
                        + "arrives after "
                        + String(format: "%.2f s", load.rest / .seconds(1)))
                return true
            }
            return false
        }
    }

    private struct Hexadecimal: CustomStringConvertible {
        let data: Data
        init(_ data: Data) { self.data = data }
        var description: String { data.map { String(format: "%02x", $0) }.joined() }
    }
}

/// Measures everything, with keychains in a folder that is removed afterwards.
///
/// - Returns: The limits that were missed.
func missedLimits() async throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(
        path: "circle-figures-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await EtcdCluster.with(nodes: 3, users: [Figures.user]) { cluster in
        let figures = Figures(cluster: cluster, folder: folder)
        try await figures.measureEtcd()
        var missed: [String] = []
        if try await !figures.measureSaves() {
            missed.append("a save in no circle takes at most × \(SaveCost.limit)")
        }
        let (one, two) = (try await figures.device("one"), try await figures.device("two"))
        try await one.found()
        try await one.add(two)
        if try await !figures.measureTravel(one, two) {
            missed.append("a save reaches another machine in 50 ms (median)")
        }
        if try await !figures.measureFreshMachine(one) {
            missed.append("a machine that joins has 10,000 items within 5 s")
        }
        if try await !figures.measureLoad() {
            missed.append(
                "for at least one rate of changes, sustained for 60 s, at most "
                    + "\(Figures.backlogLimit) changes wait on a machine, and the last one arrives "
                    + "within \(Figures.restLimit)")
        }
        return missed
    }
}

let missed = try await missedLimits()
for limit in missed {
    FileHandle.standardError.write(Data("MISSED: synchronization: \(limit)\n".utf8))
}
if !missed.isEmpty { exit(1) }

#else

import Foundation

FileHandle.standardError.write(
    Data("circle-figures: built without the package trait Synchronization\n".utf8))
exit(64)

#endif
