// Role: what this program does when a run starts it a second time, to measure a process or to
// fill a keychain that is closed afterwards. The first argument names the role.

import Foundation
import Keychain

enum Role {
    /// Adds items to the keychain in a folder.
    case fill(directory: String, range: Range<Int>)
    /// Writes the time at which the program could begin.
    case begin
    /// Writes the time at which the first secret was there.
    case firstLoad
    /// Loads, and writes the most memory that was needed.
    case memory(itemCount: Int, loads: Int)
    /// Loads and does nothing else, for a profiler.
    case loadLoop(directory: String, itemCount: Int, loads: Int)

    /// - Returns: nil where the arguments name no role.
    init?(_ arguments: [String]) throws {
        guard let name = arguments.first, name.hasPrefix("role:") else { return nil }
        func number(_ position: Int) throws -> Int {
            guard position < arguments.count, let number = Int(arguments[position]), number >= 0
            else { throw UsageError(description: "\(name) needs a number.") }
            return number
        }
        func path() throws -> String {
            guard arguments.count > 1 else {
                throw UsageError(description: "\(name) needs a path.")
            }
            return arguments[1]
        }
        switch name {
        case "role:fill":
            let first = try number(2)
            self = .fill(directory: try path(), range: first..<(try max(number(3), first)))
        case "role:begin": self = .begin
        case "role:first-load": self = .firstLoad
        case "role:memory": self = .memory(itemCount: try number(1), loads: try number(2))
        case "role:load-loop":
            self = .loadLoop(
                directory: try path(), itemCount: try number(2), loads: try number(3))
        default: throw UsageError(description: "There is no role \(name).")
        }
    }

    func run() throws {
        switch self {
        case .fill(let directory, let range):
            try Self.fill(KeychainDatabase(directory: URL(fileURLWithPath: directory)), range)
        case .begin:
            print(Instant.now.nanoseconds)
        case .firstLoad:
            try Self.load(Self.keys(0..<1))
            print(Instant.now.nanoseconds)
        case .memory(let itemCount, let loads):
            try Self.load(Self.keys(Sample.choice(of: loads, from: itemCount)))
            print(Machine.peakMemory())
        case .loadLoop(let directory, let itemCount, let loads):
            let database = KeychainDatabase(directory: URL(fileURLWithPath: directory))
            if try Self.isEmpty(database) { try Self.fill(database, 0..<itemCount) }
            let start = Instant.now
            try Self.load(Self.keys(Sample.choice(of: loads, from: itemCount), in: database))
            let time = Instant.now.nanoseconds(since: start) / Double(max(loads, 1))
            print(Format.time(time), "a load")
        }
    }

    // MARK: Steps

    private typealias Name = (keychain: Keychain, key: KeychainKey<Data>)

    private static func keys(
        _ indices: some Sequence<Int>, in database: KeychainDatabase = .default
    ) -> some Sequence<(Int, Name)> {
        indices.lazy.map { index in
            let keychain = Keychain(service: Sample.service(of: index), in: database)
            return (index, (keychain, KeychainKey<Data>(Sample.account(of: index))))
        }
    }

    private static func load(_ names: some Sequence<(Int, Name)>) throws {
        for (index, name) in names {
            guard try name.keychain.load(name.key) == Sample.secret(of: index) else {
                throw ChildFailure(description: "Item \(index) is missing or another.")
            }
        }
    }

    private static func isEmpty(_ database: KeychainDatabase) throws -> Bool {
        try !Keychain(service: Sample.service(of: 0), in: database).exists(Sample.account(of: 0))
    }

    /// Durable additions through the public interface, one commit an item.
    private static func fill(_ database: KeychainDatabase, _ range: Range<Int>) throws {
        let start = Instant.now
        for (index, name) in keys(range, in: database) {
            try name.keychain.add(Sample.secret(of: index), for: name.key)
            let done = index + 1 - range.lowerBound
            if done % 20_000 == 0 {
                let each = Instant.now.nanoseconds(since: start) / Double(done)
                let left = each * Double(range.upperBound - index - 1)
                Program.note(
                    "  \(Format.grouped(Double(index + 1))) items, \(Format.time(each)) each, "
                        + "about \(Format.time(left)) left")
            }
        }
    }
}
