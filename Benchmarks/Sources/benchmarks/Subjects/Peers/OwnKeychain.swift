// OwnKeychain: the keychain of this package as one of the compared secret stores. It is used in
// three ways: embedded, through the service, and with keychainctl. It is filled by ordinary saves,
// each of which is durable.

import BenchmarkFigures
import Foundation
import Keychain

final class OwnKeychain: Peer {
    private let place: PeerPlace
    private let embedded: ChildProcess.Variables

    init(itemCount: Int, _ place: PeerPlace) throws {
        self.place = place
        embedded = ["KEYCHAIN_SERVICE": "embedded", "KEYCHAIN_DIRECTORY": place.disk + "/keychain"]
        _ = try Self.process(embedded).times(of: .save, Array(0..<itemCount))
    }

    var ways: [Way] {
        let (place, embedded) = (place, embedded)
        var ways = [
            Way(name: "Keychain, embedded", color: "#1a5fb4", isWholeProcess: false) {
                try Self.process(embedded)
            }
        ]
        let files = FileManager.default
        if files.isExecutableFile(atPath: place.options.keychaind) {
            ways.append(
                Way(name: "Keychain, service", color: "#3fa7d6", isWholeProcess: false) {
                    try ServedProcess(place)
                })
        }
        if files.isExecutableFile(atPath: place.options.keychainctl) {
            ways.append(
                Way(name: "keychainctl", color: "#1a5fb4", isWholeProcess: true) {
                    WholeProcesses(
                        program: place.options.keychainctl, variables: embedded,
                        command: Self.command)
                })
        }
        return ways
    }

    private static func process(_ variables: ChildProcess.Variables) throws -> StayingProcess {
        try StayingProcess(ChildProcess.ownPath(), ["role:peer"], variables)
    }

    private static func command(_ call: PeerCall, _ index: Int) -> WholeProcesses.Command {
        let service = ["--service", PeerSample.service]
        let item = service + ["--account", PeerSample.account(of: index)]
        return switch call {
        case .load: .init(arguments: ["get"] + item)
        case .save: .init(arguments: ["set"] + item, input: PeerSample.secret(of: index))
        case .list: .init(arguments: ["list"] + service)
        }
    }

    /// A process that carries out the calls, and the service that it uses.
    private struct ServedProcess: Caller {
        let service: Service
        let process: StayingProcess

        init(_ place: PeerPlace) throws {
            service = try Service(
                place.options.keychaind, directory: place.disk + "/keychain", in: place.working)
            process = try OwnKeychain.process(service.variables)
        }

        func times(of call: PeerCall, _ indices: [Int]) throws -> [Double]? {
            try withExtendedLifetime(service) { try process.times(of: call, indices) }
        }
    }

    // MARK: The process

    /// Carries out the calls in each line of standard input, and answers each line with a line of
    /// their durations in nanoseconds.
    static func answer() throws {
        let keychain = Keychain(service: PeerSample.service)
        while let line = readLine() {
            let words = line.split(separator: " ")
            guard let call = words.first.flatMap({ PeerCall(rawValue: String($0)) }) else {
                throw UsageError(description: "Unknown call: \(line)")
            }
            let times = try words.dropFirst().compactMap { Int($0) }.map { index in
                let start = Instant.now
                try carryOut(call, index, keychain)
                return Instant.now.nanoseconds - start.nanoseconds
            }
            let answer = times.map(String.init).joined(separator: " ") + "\n"
            try FileHandle.standardOutput.write(contentsOf: Data(answer.utf8))
        }
    }

    private static func carryOut(_ call: PeerCall, _ index: Int, _ keychain: Keychain) throws {
        let key = KeychainKey<String>(PeerSample.account(of: index))
        var isRight = true
        switch call {
        case .load: isRight = try keychain.load(key) == PeerSample.secret(of: index)
        case .list: isRight = try keychain.items().count >= index
        case .save: try keychain.save(PeerSample.secret(of: index), for: key)
        }
        guard isRight else { throw WrongAnswer(description: "\(call) \(index) was wrong.") }
    }
}
