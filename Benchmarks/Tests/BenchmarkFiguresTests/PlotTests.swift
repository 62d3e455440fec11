// Tests of plots and tables, and of parsing measured times and the write-ahead log.

import BenchmarkFigures
import Foundation
import Testing

@Suite struct `Plots and tables` {
    private static let peers: [PeerFigures] = {
        var quick = PeerFigures("Keychain, embedded", color: "#1a5fb4", isWholeProcess: false)
        var slow = PeerFigures("gnome-keyring, libsecret", color: "#2e8540", isWholeProcess: true)
        for size in [10, 100, 1_000, 4_000] {
            quick.add(.load, at: size, Samples(12e3))
            slow.add(.load, at: size, Samples(Double(size) * 1e5))
            slow.add(.save, at: size, Samples([1e6, 2e6, 3e6]))
        }
        slow.add(.list, at: 10, Samples(5e9))
        return [quick, slow]
    }()

    @Test func `texts in a plot neither overlap nor cross its edge`() throws {
        let svg = ScalingPlot.svg(
            [PeerCall.load, .save].map { call in
                Panel(call.title, Self.peers.compactMap { $0.series(of: call) })
            })
        let size = try #require(svg.firstMatch(of: /viewBox="0 0 ([\d.]+) ([\d.]+)"/))
        let (width, height) = (try #require(Double(size.1)), try #require(Double(size.2)))
        let element = /<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)" font-size="(\d+)">(.+?)</
        let boxes = svg.matches(of: element).compactMap { match -> CGRect? in
            guard let x = Double(match.1), let y = Double(match.2), let font = Double(match.4)
            else { return nil }
            let length = 0.55 * font * Double(match.5.count)
            let start = ["start": x, "middle": x - length / 2, "end": x - length][match.3]
            return start.map { CGRect(x: $0, y: y - font, width: length, height: font) }
        }
        // Each of the two panels has 4 item counts, a title, and the title of an axis. In addition,
        // the plot has more than 5 times, and the names of 2 stores.
        #expect(boxes.count > 2 * (4 + 2) + 5 + 2)
        for (index, box) in boxes.enumerated() {
            #expect(box.minX >= 0 && box.maxX <= width && box.minY >= 0 && box.maxY <= height)
            #expect(!boxes[..<index].contains { $0.intersects(box) })
        }
        #expect(svg.matches(of: /<polyline/).count == 3)
        #expect(svg.matches(of: /<circle/).count == 3 * 4)
    }

    @Test func `the table has a row for each measured combination of a call and a store`() {
        #expect(
            PeerFigures.table(Self.peers) == [
                "| Call | Store | 10 items | 100 items | 1,000 items | 4,000 items |",
                "| --- | --- | ---: | ---: | ---: | ---: |",
                "| Load one | Keychain, embedded | 12 µs | 12 µs | 12 µs | 12 µs |",
                "| Load one | gnome-keyring, libsecret | 1 ms | 10 ms | 100 ms | 400 ms |",
                "| Save a new one | gnome-keyring, libsecret | 2 ms | 2 ms | 2 ms | 2 ms |",
                "| List all | gnome-keyring, libsecret | 5 s |  |  |  |",
            ])
    }

    @Test(
        arguments: [
            ("1200 34", 2, [1200, 34]), ("7", 1, [7]), ("1200 34", 3, nil), ("12 error", 2, nil),
            ("12 34 error", 2, nil), ("-1", 1, nil), ("", 1, nil),
        ] as [(String, Int, [Double]?)])
    func `a measured program's answer is accepted only if it contains one time for each call`(
        _ line: String, _ count: Int, _ times: [Double]?
    ) {
        #expect(PeerAnswer.times(line, count: count) == times)
    }

    @Test func `only complete frames since the last restart of the WAL are counted`() {
        func word(_ value: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        }
        let salts = word(7) + word(9)
        let header = [0x377F_0682, 3_007_000, 512, 0].flatMap(word) + salts + word(0) + word(0)
        func frame(_ salts: [UInt8]) -> [UInt8] {
            word(1) + word(1) + salts + word(0) + word(0) + [UInt8](repeating: 1, count: 512)
        }
        let log = header + frame(salts) + frame(salts)
        let older = frame(word(6) + word(9))
        #expect(WriteAheadLog.frameCount(of: Data(log)) == 2)
        #expect(WriteAheadLog.frameCount(of: Data(log + older + frame(salts))) == 2)
        #expect(WriteAheadLog.frameCount(of: Data((log + frame(salts)).dropLast())) == 2)
        #expect(WriteAheadLog.frameCount(of: Data(header)) == 0)
        #expect(WriteAheadLog.frameCount(of: Data()) == 0)
    }
}
