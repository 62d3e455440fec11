// Peer: one of the compared secret stores, and the ways of using it.

import BenchmarkFigures
import Foundation

protocol Peer: AnyObject {
    /// Creates a store with the first `itemCount` items, and starts the processes that the store
    /// needs. These processes end when this object is released.
    ///
    /// - Throws: An error that names what is missing.
    init(itemCount: Int, _ place: PeerPlace) throws

    /// The ways of using the store. They are measured one after the other, and each is open only
    /// while it is measured.
    var ways: [Way] { get }
}

/// The folders of a store.
struct PeerPlace {
    let options: Options
    /// A folder on the disk for the store only, for files that have to be durable.
    let disk: String
    /// A folder for the store only, with a short path, for sockets. It is in memory if the system
    /// has a folder in memory.
    let memory: String
    let working: WorkingFolder
}

/// A way of using a store.
struct Way {
    let name: String
    let color: String
    let isWholeProcess: Bool
    let open: () throws -> any Caller
}

protocol Caller {
    /// Carries out a call for each index in turn. An index is the number of an item to load or
    /// save. For ``PeerCall/list``, which lists all items, it is instead the minimum number of
    /// items that the call must return.
    ///
    /// - Returns: The times in nanoseconds. `nil` if the store has no such call.
    func times(of call: PeerCall, _ indices: [Int]) throws -> [Double]?
}

/// The items in every store. The secrets are text, since some stores accept only text.
enum PeerSample {
    static let service = "org.example.peers"

    static func account(of index: Int) -> String { "account-\(index)" }

    static func secret(of index: Int) -> String {
        let digits = String(index)
        return "secret-" + String(repeating: "0", count: 25 - digits.count) + digits
    }
}
