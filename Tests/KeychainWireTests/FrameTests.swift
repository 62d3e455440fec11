// FrameTests: sizes, limits and long answers.

import Foundation
import KeychainModel
import KeychainWire
import Testing

@Suite struct `Frames` {
    @Test func `a frame begins with the size of its message`() throws {
        let frame = try ServiceRequest(id: 7, .lock).frame().all
        let size = try FrameHeader.messageByteCount(of: frame)
        #expect(size == frame.count - FrameHeader.byteCount)
        #expect(Array(frame.prefix(3)) == [0, 0, 0])
    }

    /// Header, limit, and the size or nil where it isn't known yet.
    @Test(
        arguments: [
            ([], 100, nil), ([0, 0, 0], 100, nil), ([0, 0, 0, 1], 100, 1),
            ([0, 0, 0, 100], 100, 100),
            ([0, 0, 1, 0, 9, 9], 256, 256), ([4, 0, 0, 0], WireLimits.messageByteCount, 64 << 20),
        ] as [([UInt8], Int, Int?)])
    func `a size within the limit is taken`(_ bytes: [UInt8], _ limit: Int, _ size: Int?) throws {
        #expect(try FrameHeader.messageByteCount(of: bytes, limit: limit) == size)
    }

    @Test(
        arguments: [
            ([0, 0, 0, 0], 100), ([0, 0, 0, 101], 100), ([0xFF, 0xFF, 0xFF, 0xFF], 64 << 20),
            ([4, 0, 0, 1], 64 << 20), ([0x80, 0, 0, 0], 64 << 20),
        ] as [([UInt8], Int)])
    func `a size of nothing or above the limit is refused`(_ bytes: [UInt8], _ limit: Int) {
        let failure = #expect(throws: KeychainFailure.self) {
            try FrameHeader.messageByteCount(of: bytes, limit: limit)
        }
        #expect(failure?.status == .param)
    }

    @Test func `a request above the limit is not made`() throws {
        let item = NewItem(itemClass: .key, attributes: [:], data: Data(count: 1000))
        let request = ServiceRequest(id: 1, .add(item))
        #expect(try request.frame(limit: 1100).message.count > 1000)
        let failure = #expect(throws: KeychainFailure.self) { try request.frame(limit: 1000) }
        #expect(failure?.status == .param)
    }

    @Test func `a long answer goes in several frames and arrives whole`() throws {
        var values = RandomValues(seed: 4)
        let items = (0..<500).map { _ in values.item() }
        let identities = (0..<200).map { _ in values.identity() }
        for content in [ServiceAnswer.items(items), .identities(identities)] {
            let reply = ServiceReply(id: 5, .answer(content))
            let frames = reply.frames(partByteCount: 10_000)
            #expect(frames.count > 10)
            var found: [Item] = []
            var pairs: [Identity] = []
            for (index, frame) in frames.enumerated() {
                let part = try ServiceReply(bytes: frame.message)
                #expect(part.id == 5)
                switch part.content {
                case .part(.items(let some)) where index < frames.count - 1: found += some
                case .answer(.items(let some)) where index == frames.count - 1: found += some
                case .part(.identities(let some)) where index < frames.count - 1: pairs += some
                case .answer(.identities(let some)) where index == frames.count - 1: pairs += some
                default: Issue.record("frame \(index) is no part of the answer")
                }
            }
            #expect(ServiceAnswer.items(found) == content || found.isEmpty)
            #expect(ServiceAnswer.identities(pairs) == content || pairs.isEmpty)
            #expect(found.count + pairs.count > 0)
        }
    }

    @Test func `an answer that can't be sent becomes a failure`() throws {
        let reply = ServiceReply(id: 6, .answer(.data(Data(count: 1000))))
        let frames = reply.frames(limit: 500)
        #expect(frames.count == 1)
        let received = try ServiceReply(bytes: try #require(frames.first).message)
        guard case .failure(let failure) = received.content else {
            Issue.record("no failure")
            return
        }
        #expect(received.id == 6 && failure.status == .notAvailable)
    }

    @Test func `a handshake is taken as it was made, and nothing else is`() throws {
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
