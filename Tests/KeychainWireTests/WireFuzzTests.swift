// WireFuzzTests: messages near valid ones.
//   (1) The inputs follow from a fixed seed, so a failure can be repeated.
//   (2) No input may trap; what is taken is sent again as it was read.

import Foundation
import KeychainModel
import KeychainWire
import Testing

@Suite struct `Fuzzed messages` {
    private static let rounds = 5000

    @Test func `no request traps, and what is taken can be sent on`() throws {
        var values = RandomValues(seed: 5)
        let corpus = try (0..<10).flatMap { _ in
            try values.operations().map { try ServiceRequest(id: 9, $0.operation).frame().message }
        }
        #expect(corpus.count == 260)
        var taken = 0
        for _ in 0..<Self.rounds {
            let input = mutated(corpus, &values)
            guard let received = try? ReceivedRequest(bytes: input),
                let request = try? received.request.get()
            else { continue }
            taken += 1
            let again = try ReceivedRequest(bytes: request.frame().message)
            #expect(try again.request.get().operation.isSame(as: request.operation))
            #expect(try again.request.get().claim == request.claim)
        }
        #expect(taken > Self.rounds / 100 && taken < Self.rounds)
    }

    @Test func `no reply traps, and what is taken can be sent on`() throws {
        var values = RandomValues(seed: 6)
        let corpus = (0..<10).flatMap { _ in
            values.contents().flatMap { ServiceReply(id: 9, $0.content).frames() }
                .map(\.message)
        }
        #expect(corpus.count == 150)
        var taken = 0
        for _ in 0..<Self.rounds {
            let input = mutated(corpus, &values)
            guard let reply = try? ServiceReply(bytes: input) else { continue }
            taken += 1
            let frame = try #require(reply.frames().first)
            // Numbers that are none differ from themselves; all else is equal.
            let again = try ServiceReply(bytes: frame.message)
            #expect(again == reply || "\(again)" == "\(reply)")
        }
        #expect(taken > Self.rounds / 100 && taken < Self.rounds)
    }

    /// One of the inputs, changed in a few places: a byte flipped, left out or doubled, or the end
    /// cut off.
    private func mutated(_ corpus: [[UInt8]], _ values: inout RandomValues) -> [UInt8] {
        var bytes = values.pick(corpus, else: [])
        for _ in 0...Int.random(in: 0...3, using: &values.generator) {
            guard !bytes.isEmpty else { break }
            let place = Int.random(in: 0..<min(bytes.count, 200), using: &values.generator)
            switch Int.random(in: 0..<5, using: &values.generator) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &values.generator)
            case 1: bytes[place] = UInt8.random(in: .min ... .max, using: &values.generator)
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(bytes[place], at: place)
            default: bytes.removeLast(bytes.count - place)
            }
        }
        return bytes
    }
}
