// Role: what this program does if its first argument is the name of a role. A run of the benchmarks
// starts this program with a role as a child process, to measure that process or to fill a keychain
// that is closed afterwards. The case `loop` is for a profiler.

import BenchmarkFigures
import Foundation
import Keychain

enum Role {
    /// Adds items to the keychain in a folder.
    case fill(directory: String, range: Range<Int>)
    /// Writes the time at which `main` began.
    case begin
    /// Writes the time at which the first secret was loaded.
    case firstLoad
    /// Loads, and writes the peak memory of the process.
    case memory(itemCount: Int, loads: Int)
    /// Loads, and writes the mean time of a load.
    case meanLoad(itemCount: Int, loads: Int)
    /// Saves for a fixed period from `start`, and writes the number of saves per second.
    case saves(start: UInt64, writer: Int)
    /// Carries out the calls that standard input names, and writes their times.
    case peer
    /// Repeats one call on the keychain in a folder, for a profiler.
    case loop(Call, directory: String, itemCount: Int, count: Int)

    enum Call: String {
        case load
        case copyMatching = "copy-matching"
        case list
        case save
        /// `SecItemCopyMatching` by service only, where all items have the same service.
        case first
    }

    /// - Returns: `nil` if the arguments name no role.
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
        case "role:mean-load":
            self = .meanLoad(itemCount: try number(1), loads: try number(2))
        case "role:peer": self = .peer
        case "role:saves":
            self = .saves(start: UInt64(try number(1)), writer: try number(2))
        default:
            guard let call = Call(rawValue: String(name.dropFirst(5))) else {
                throw UsageError(description: "There is no role \(name).")
            }
            self = .loop(
                call, directory: try path(), itemCount: try number(2), count: try number(3))
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
        case .meanLoad(let itemCount, let loads):
            let indices = Sample.choice(of: loads, from: itemCount)
            // Opens the keychain and fills caches before the measurement.
            try Self.load(Self.keys(indices))
            let start = Instant.now
            try Self.load(Self.keys(indices))
            print(Instant.now.nanoseconds(since: start) / Double(loads))
        case .saves(let start, let writer):
            print(try SaveRates.saves(from: start, writer: writer))
        case .peer:
            try OwnKeychain.answer()
        case .loop(let call, let directory, let itemCount, let count):
            Environment.set("KEYCHAIN_DIRECTORY", directory)
            let first = Keychain(service: Sample.service(of: 0))
            if try !first.exists(.account(Sample.account(of: 0))) {
                if call == .first {
                    for index in 0..<itemCount {
                        let key = KeychainKey<Data>(Sample.account(of: index))
                        try first.add(Sample.secret(of: index), for: key)
                    }
                } else {
                    try Self.fill(.default, 0..<itemCount)
                }
            }
            try Self.loop(call, Sample.choice(of: count, from: itemCount))
        }
    }

    private static func loop(_ call: Call, _ indices: [Int]) throws {
        let start = Instant.now
        switch call {
        case .load:
            try load(keys(indices))
        case .copyMatching:
            for index in indices {
                try LoadRows.copyMatching(Sample.service(of: index), Sample.account(of: index))
            }
        case .save:
            for (index, name) in keys(indices) {
                try name.keychain.save(Sample.secret(of: index), for: name.key)
            }
        case .first:
            for _ in indices { try LoadRows.copyMatching(Sample.service(of: 0)) }
        case .list:
            for _ in indices { _ = try Keychain(service: Sample.service(of: 0)).items() }
        }
        let time = Instant.now.nanoseconds(since: start) / Double(max(indices.count, 1))
        print(Format.time(time), "a call")
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
                throw ChildFailure(description: "Item \(index) is missing or has the wrong secret.")
            }
        }
    }

    /// Adds items through the public interface, each with a durable commit.
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
