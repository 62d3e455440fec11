// FrameTests: the sizes and limits of frames, long answers, and the erasure of released frames.

import Foundation
import KeychainCore
import KeychainWire
import TestPrograms
import Testing

@Suite struct `Frames` {
    @Test func `a frame begins with the size of its message`() throws {
        let lock = try ClientMessage.frame(of: Lock(), id: 7, claim: AccessGroups([]))
        let subscribe = try ClientMessage.subscribe.frame(id: 7)
        let done = try ServiceMessage.frames(id: 7, Done())
        for frame in [lock, subscribe, ServiceMessage.frameOfChange(id: 7)] + done {
            let size = try FrameHeader.messageByteCount(of: frame.all)
            #expect(size == frame.count - FrameHeader.byteCount)
            #expect(Array(frame.all.prefix(3)) == [0, 0, 0])
        }
    }

    /// The received header, the limit, and the size, or `nil` if the size isn't known yet.
    @Test(
        arguments: [
            ([], 100, nil), ([0, 0, 0], 100, nil), ([0, 0, 0, 1], 100, 1),
            ([0, 0, 0, 100], 100, 100),
            ([0, 0, 1, 0, 9, 9], 256, 256), ([4, 0, 0, 0], WireLimits.messageByteCount, 64 << 20),
        ] as [([UInt8], Int, Int?)])
    func `a frame size within the limit is accepted`(_ bytes: [UInt8], _ limit: Int, _ size: Int?)
        throws
    {
        #expect(try FrameHeader.messageByteCount(of: bytes, limit: limit) == size)
    }

    @Test(
        arguments: [
            ([0, 0, 0, 0], 100), ([0, 0, 0, 101], 100), ([0xFF, 0xFF, 0xFF, 0xFF], 64 << 20),
            ([4, 0, 0, 1], 64 << 20), ([0x80, 0, 0, 0], 64 << 20),
        ] as [([UInt8], Int)])
    func `a frame size of zero or above the limit is refused`(_ bytes: [UInt8], _ limit: Int) {
        let failure = #expect(throws: KeychainFailure.self) {
            try FrameHeader.messageByteCount(of: bytes, limit: limit)
        }
        #expect(failure?.status == .param)
    }

    @Test func `a request above the limit can't be encoded`() throws {
        let add = AddItem(NewItem(itemClass: .key, attributes: [:], data: Data(count: 1000)))
        let size = try Messages.message(add).count
        let none = AccessGroups([])
        let frame = try ClientMessage.frame(of: add, id: 1, claim: none, limit: size)
        #expect(frame.message.count == size)
        let failure = #expect(throws: KeychainFailure.self) {
            try ClientMessage.frame(of: add, id: 1, claim: none, limit: size - 1)
        }
        #expect(failure?.status == .param)
    }

    /// Encodes an answer in parts of the given size and joins them.
    /// - Returns: The kinds and sizes of the parts, and the joined answer.
    private func joined<Answer: MessageCodable>(
        _ answer: Answer, _ partByteCount: Int
    ) throws -> (kinds: [ServiceMessage], byteCounts: [Int], answer: Answer) {
        var kinds: [ServiceMessage] = []
        var parts: [FrameBuffer] = []
        for frame in try ServiceMessage.frames(id: 5, answer, partByteCount: partByteCount) {
            #expect(try FrameHeader.messageByteCount(of: frame.all) == frame.message.count)
            try FrameBuffer(frame.message).read { reader throws(KeychainFailure) in
                let head = try ServiceMessage.head(from: &reader)
                #expect(head.id == 5)
                kinds.append(head.kind)
                parts.append(reader.rest())
            }
        }
        let whole = FrameBuffer(joining: parts)
        return (kinds, parts.map(\.count), try Messages.value(Answer.self, whole.all))
    }

    @Test func `an answer that is sent in frames of any size arrives complete`() throws {
        var values = RandomValues(seed: 4)
        let items = (0..<5).map { _ in values.item() }
        let size = Messages.bytes(items).count
        for partByteCount in [1, 2, 3, 7, 100, size / 2, size - 1, size, size + 1] {
            let (kinds, counts, answer) = try joined(items, partByteCount)
            #expect(answer == items)
            #expect(kinds.count == (size + partByteCount - 1) / partByteCount)
            #expect(kinds.dropLast().allSatisfy { $0 == .part } && kinds.last == .answer)
            #expect(counts.allSatisfy { 1...partByteCount ~= $0 })
        }
        // An answer without bytes is also sent as a frame.
        #expect(try joined(Done(), 1).kinds == [.answer])
    }

    @Test func `an answer above the limit can't be encoded`() throws {
        let answer = Data(count: 1000)
        let size = Messages.bytes(answer).count
        for partByteCount in [100, 2000] {
            func frames(limit: Int) throws(KeychainFailure) -> [FrameBuffer] {
                try ServiceMessage.frames(
                    id: 5, answer, partByteCount: partByteCount, limit: limit)
            }
            #expect(try !frames(limit: size).isEmpty)
            let failure = #expect(throws: KeychainFailure.self) { try frames(limit: size - 1) }
            #expect(failure?.status == .allocate)
        }
    }

    @Test func `no part of a message remains in memory after its frames are released`() throws {
        let secret = SecretBytes.random(byteCount: 40)
        let needle = Needle(secret)
        #expect(try needle.occurrenceCount() == 1)
        var writer = MessageWriter(capacity: 64)
        // The blocks are too small for separate mappings, so freed memory stays mapped.
        writer.number(0 as UInt64)
        writer.number(0 as UInt64)
        secret.encode(to: &writer)
        for _ in 0..<1000 { writer.number(0 as UInt64) }
        let size = writer.byteCount
        #expect(try needle.occurrenceCount() == 2 && size == 8060)
        var frames = [writer.finished()]
        frames.append(FrameBuffer(joining: frames))
        frames.append(try frames[0].read { reader throws(KeychainFailure) in reader.rest() })
        #expect(try needle.occurrenceCount() == 4)
        frames = try ServiceMessage.frames(id: 1, secret, partByteCount: 1000)
        #expect(try needle.occurrenceCount() == 2)
        frames = []
        #expect(try needle.occurrenceCount() == 1)
        withExtendedLifetime(secret) {}
    }

    @Test func `a handshake round-trips, and other bytes are refused`() throws {
        let handshake = Handshake(nonce: Bytes16(high: 1, low: .max))
        #expect(handshake.bytes.count == Handshake.byteCount)
        #expect(Handshake(bytes: handshake.bytes) == handshake)
        #expect(handshake.bytes.starts(with: "keychain".utf8))
        #expect(Handshake(bytes: handshake.bytes.dropLast()) == nil)
        #expect(Handshake(bytes: handshake.bytes + [0]) == nil)
        #expect(Handshake(bytes: [0] + handshake.bytes.dropFirst()) == nil)
        #expect(Handshake.random() != Handshake.random())
    }
}
