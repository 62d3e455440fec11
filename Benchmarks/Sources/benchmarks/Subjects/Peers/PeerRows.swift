// PeerRows: the same work with this keychain and other secret stores, which differ in durability.
//   (1) For each size, the stores are created, measured and removed one after the other. All loads
//       and lists are measured before the first save, so that the store has exactly the stated
//       size.
//   (2) The first call opens files and connections and isn't counted. It is followed by as many
//       calls as fit into about a second, at least one and at most `repetitions`. If the first call
//       takes 8 seconds or more, it is the only one and is counted.

import BenchmarkFigures
import Foundation

enum PeerRows {
    static let remark =
        "The stores differ in durability: the keychain and gnome-keyring wait for the disk when "
        + "they save, pass and Python's keyring don't. Filling isn't measured: the keychain is "
        + "filled by ordinary saves, gnome-keyring with a plain-text file that it encrypts, "
        + "pass by one gpg process for all items, Python's keyring by its own encryption and "
        + "one write. The rows of keychainctl, secret-tool and pass, and rows with \"process\" in "
        + "their name, measure whole processes."
    private static let sizes = [10, 100, 1_000, 4_000]
    private static let budget = 1e9
    private static let longest = 8e9
    private static var peers: [(name: String, type: any Peer.Type)] {
        [
            ("this package", OwnKeychain.self), ("gnome-keyring", GnomeKeyring.self),
            ("pass", PasswordStore.self), ("Python keyring", PythonKeyring.self),
        ]
    }

    /// The maximum number of counted calls. It is low for saves, since each enlarges the store.
    private static func repetitions(of call: PeerCall) -> Int {
        switch call {
        case .load: 200
        case .list: 20
        case .save: 10
        }
    }

    static func measure(
        _ folder: WorkingFolder, _ options: Options, leftOut: inout [String]
    ) throws -> [PeerFigures] {
        var figures: [PeerFigures] = []
        var peers = peers
        for size in sizes {
            let count = Format.grouped(Double(size))
            for peer in peers {
                Program.note("Measuring \(peer.name) with \(count) items")
                do {
                    let place = try place(folder, options)
                    defer { place.remove() }
                    try measure(
                        peer.type.init(itemCount: size, place), size, &figures, &leftOut)
                } catch {
                    leftOut.append("\(peer.name) from \(count) items on: \(error)")
                    peers.removeAll { $0.name == peer.name }
                }
            }
        }
        return figures
    }

    private static func measure(
        _ peer: any Peer, _ size: Int, _ figures: inout [PeerFigures],
        _ leftOut: inout [String]
    ) {
        for call in [PeerCall.load, .list, .save] {
            for (position, way) in peer.ways.enumerated() {
                let first = size + position * (repetitions(of: .save) + 1)
                let index = figures.firstIndex { $0.name == way.name } ?? figures.count
                if index == figures.count {
                    figures.append(
                        PeerFigures(
                            way.name, color: way.color, isWholeProcess: way.isWholeProcess))
                }
                do {
                    let times = try times(way.open(), call, size, firstNew: first)
                    if let times { figures[index].add(call, at: size, times) }
                } catch {
                    let count = Format.grouped(Double(size))
                    leftOut.append("\(call.rawValue) by \(way.name) with \(count) items: \(error)")
                }
            }
        }
    }

    /// The duration of the first call determines the number of further calls.
    private static func times(
        _ caller: any Caller, _ call: PeerCall, _ size: Int, firstNew: Int
    ) throws -> Samples? {
        let most = repetitions(of: call) + 1
        let indices =
            switch call {
            case .load: Sample.choice(of: most, from: size)
            case .list: Array(repeating: size, count: most)
            case .save: Array(firstNew..<firstNew + most)
            }
        guard let first = try caller.times(of: call, [indices[0]])?.first else { return nil }
        guard first < longest else { return Samples(first) }
        let fitting = max(min(most - 1, Int(budget / max(first, 1))), 1)
        return try caller.times(of: call, Array(indices[1...fitting])).map { Samples($0) }
    }

    private static func place(_ folder: WorkingFolder, _ options: Options) throws -> PeerPlace {
        let place = PeerPlace(
            options: options, disk: folder.disk + "/peer",
            memory: (folder.memory ?? folder.disk) + "/peer-sockets", working: folder)
        place.remove()
        for path in [place.disk, place.memory] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        return place
    }
}

extension PeerPlace {
    func remove() {
        for path in [disk, memory] { try? FileManager.default.removeItem(atPath: path) }
    }
}
