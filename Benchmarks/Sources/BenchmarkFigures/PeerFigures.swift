// PeerFigures: the times that this keychain and other secret stores take for the same work, as a
// table and as lines of a plot.

/// The calls that are measured, each with all stores that support it.
package enum PeerCall: String, CaseIterable, Encodable, Sendable {
    case load
    case save
    case list

    package var title: String {
        switch self {
        case .load: "Load one"
        case .save: "Save a new one"
        case .list: "List all"
        }
    }
}

/// One way of using a store: its name, and the median times of each call by number of items.
package struct PeerFigures: Encodable {
    package let name: String
    package let color: String
    /// Whether each call is measured as a whole process, from start to end.
    package let isWholeProcess: Bool
    package private(set) var points: [String: [Series.Point]] = [:]

    package init(_ name: String, color: String, isWholeProcess: Bool) {
        self.name = name
        self.color = color
        self.isWholeProcess = isWholeProcess
    }

    package mutating func add(_ call: PeerCall, at itemCount: Int, _ times: Samples) {
        points[call.rawValue, default: []].append(
            Series.Point(itemCount: itemCount, nanoseconds: times.median))
    }

    package func series(of call: PeerCall) -> Series? {
        points[call.rawValue].map {
            Series(name: name, color: color, isDashed: isWholeProcess, points: $0)
        }
    }

    /// A table in Markdown.
    package static func table(_ peers: [PeerFigures]) -> [String] {
        let counts = Set(peers.flatMap { $0.points.values.joined().map(\.itemCount) }).sorted()
        let head = ["Call", "Store"] + counts.map { Format.grouped(Double($0)) + " items" }
        var lines = [head, ["---", "---"] + counts.map { _ in "---:" }]
        for call in PeerCall.allCases {
            for peer in peers {
                guard let points = peer.points[call.rawValue] else { continue }
                let times = counts.map { count in
                    points.first { $0.itemCount == count }.map { Format.time($0.nanoseconds) } ?? ""
                }
                lines.append([call.title, peer.name] + times)
            }
        }
        return lines.map { "| " + $0.joined(separator: " | ") + " |" }
    }
}

/// The answer of a process that carries out several calls: a line with the time of each call.
package enum PeerAnswer {
    /// The times in a line of integer nanoseconds, separated by spaces. `nil` if the line contains
    /// anything else or not exactly `count` times.
    package static func times(_ line: String, count: Int) -> [Double]? {
        let times = line.split(separator: " ").compactMap { UInt64($0) }.map { Double($0) }
        let isWhole = times.count == line.split(separator: " ").count
        return isWhole && times.count == count ? times : nil
    }
}
