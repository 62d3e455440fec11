// Peer: a store of secrets beside which the keychain is measured, and the ways to it.

import BenchmarkFigures
import Foundation

protocol Peer: AnyObject {
    /// A new store with the first so many items, and what must run for it; it ends with the object.
    ///
    /// - Throws: What is missing.
    init(itemCount: Int, _ place: PeerPlace) throws

    /// Each is measured in its turn, and open meanwhile only.
    var ways: [Way] { get }
}

/// Where a store is.
struct PeerPlace {
    let options: Options
    /// A folder of its own on the disk, for what has to be durable.
    let disk: String
    /// A folder of its own in memory, with a short path: for sockets.
    let memory: String
    let working: WorkingFolder
}

/// A way to a store.
struct Way {
    let name: String
    let color: String
    let isWholeProcess: Bool
    let open: () throws -> any Caller
}

protocol Caller {
    /// Carries out a call for one item after the other; a list is given the number of items that it
    /// must have. The times are in nanoseconds; nil where the store has no such call.
    func times(of call: PeerCall, _ indices: [Int]) throws -> [Double]?
}

/// The items of all stores: text, since some take nothing else.
enum PeerSample {
    static let service = "org.example.peers"

    static func account(of index: Int) -> String { "account-\(index)" }

    static func secret(of index: Int) -> String {
        let digits = String(index)
        return "secret-" + String(repeating: "0", count: 25 - digits.count) + digits
    }
}
