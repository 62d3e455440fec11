// WireFuzzTests: messages that differ only slightly from valid messages.
//   (1) The inputs are derived from a fixed seed, so that a failure can be repeated.
//   (2) No input may trap. Accepted messages must round-trip.

import Foundation
import KeychainCore
import KeychainWire
import TestPrograms
import Testing

@Suite struct `Fuzzed messages` {
    private static let rounds = 5000

    @Test func `a damaged request never traps, and round-trips if it is accepted`() throws {
        var values = RandomValues(seed: 5)
        var (count, taken) = (0, 0)
        while count < Self.rounds {
            for request in values.requests() {
                count += 1
                let message = try Messages.message(request, claim: values.groups())
                let input = mutated(message, &values)
                guard let received = try? Messages.request(input) else { continue }
                taken += 1
                let sent = try Messages.message(
                    received.request, id: received.id, claim: received.claim)
                let again = try #require(try Messages.request(sent))
                #expect(again.id == received.id && again.claim == received.claim)
                #expect(Messages.isSame(again.request, received.request))
            }
        }
        #expect(taken > Self.rounds / 100 && taken < Self.rounds)
    }

    @Test func `a damaged answer never traps, and round-trips if it is accepted`() throws {
        var values = RandomValues(seed: 6)
        var (count, taken) = (0, 0)
        func check<Value: MessageCodable>(_ value: Value) throws {
            count += 1
            let input = mutated(Messages.bytes(value), &values)
            // Empty bytes may be decoded as an answer without fields.
            guard !input.isEmpty, let read = try? Messages.value(Value.self, input) else { return }
            taken += 1
            // The bytes are compared instead of the values, because NaN isn't equal to itself.
            let sent = Messages.bytes(read)
            #expect(Messages.bytes(try Messages.value(Value.self, sent)) == sent)
        }
        while count < Self.rounds {
            for value in values.answers() + values.others() { try check(value) }
        }
        #expect(taken > Self.rounds / 100 && taken < Self.rounds)
    }

    /// A message with up to four changes: a bit is flipped, a byte is replaced, removed or
    /// duplicated, or the end is cut off.
    private func mutated(_ message: [UInt8], _ values: inout RandomValues) -> [UInt8] {
        var bytes = message
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
