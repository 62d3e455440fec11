// MessageBuffer: receives frames from a socket, one after the other.
//   (1) The size of a message is checked against the limit before memory is allocated for it.
//   (2) Received bytes are overwritten after their message has been decoded, since they may contain
//       a secret.
//   (3) One thread at a time uses it: the one that uses the connection.

import Glibc
import KeychainCore
import KeychainWire

/// The receiving side of a connection.
@safe
final class MessageBuffer {
    /// Large enough to receive most messages together with their header.
    private static let byteCount = 16 << 10

    private let block: UnsafeMutableRawBufferPointer
    /// The bytes in the block that were received and not decoded yet.
    private var pending = 0..<0
    private let limit: Int

    /// - Parameter limit: The maximum size of a message in bytes.
    init(limit: Int) {
        // SAFETY: this object owns the block until deinit.
        unsafe block = .allocate(byteCount: Self.byteCount, alignment: 16)
        self.limit = limit
    }

    deinit {
        // SAFETY: no reference to this object is left, so none to its block.
        if let base = unsafe block.baseAddress { unsafe explicit_bzero(base, block.count) }
        unsafe block.deallocate()
    }

    /// The outcome of waiting for a message.
    enum Received<Value> {
        case message(Value)
        /// The peer has closed the connection.
        case closed
        case timedOut
        /// The received bytes aren't a valid message.
        case unreadable(KeychainFailure)
        /// `errno`.
        case failed(Int32)
    }

    /// Whether bytes of another message were received already, so that waiting for the socket is
    /// not necessary.
    var isPending: Bool { !pending.isEmpty }

    /// Receives the next message and decodes it.
    ///
    /// - Parameters:
    ///   - socket: The socket to receive from.
    ///   - deadline: The deadline for the complete message.
    ///   - read: Decodes the message. The bytes are erased afterwards.
    /// - Returns: The result of `read`, or why there is no message.
    func message<Value>(
        from socket: UnixSocket, until deadline: Deadline,
        _ read: (inout MessageReader) throws(KeychainFailure) -> Value
    ) -> Received<Value> {
        if let end: Received<Value> = fill(FrameHeader.byteCount, from: socket, until: deadline) {
            return end
        }
        let size: Int
        do {
            // SAFETY: the bytes of the header are in the block.
            guard
                let field = unsafe try FrameHeader.messageByteCount(
                    of: block[pending], limit: limit)
            else { return .closed }
            size = field
        } catch {
            return .unreadable(error)
        }
        if FrameHeader.byteCount + size > Self.byteCount {
            consume(FrameHeader.byteCount)
            return largeMessage(size, from: socket, until: deadline, read)
        }
        if let end: Received<Value> = fill(
            FrameHeader.byteCount + size, from: socket, until: deadline)
        {
            return end
        }
        consume(FrameHeader.byteCount)
        defer { consume(size) }
        // SAFETY: `fill` has put that many bytes into the block.
        return unsafe Self.value(
            of: UnsafeRawBufferPointer(
                rebasing: block[pending.lowerBound..<pending.lowerBound + size]), read)
    }

    /// Receives a message that doesn't fit into the block into a separate buffer.
    private func largeMessage<Value>(
        _ size: Int, from socket: UnixSocket, until deadline: Deadline,
        _ read: (inout MessageReader) throws(KeychainFailure) -> Value
    ) -> Received<Value> {
        var end: Received<Value>?
        // SAFETY: no piece is longer than the rest of the target.
        let message = unsafe FrameBuffer(byteCount: size) { target in
            let head = min(pending.count, size)
            unsafe target.copyMemory(
                from: UnsafeRawBufferPointer(
                    rebasing: block[pending.lowerBound..<pending.lowerBound + head]))
            consume(head)
            var offset = head
            while offset < size {
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset...])
                switch unsafe socket.receive(into: rest, until: deadline) {
                case .moved(let count): offset += count
                case let other:
                    end = Received(other)
                    return
                }
            }
        }
        if let end { return end }
        // SAFETY: the bytes are used within the call only.
        return unsafe message.withUnsafeBytes { unsafe Self.value(of: $0, read) }
    }

    private static func value<Value>(
        of message: UnsafeRawBufferPointer,
        _ read: (inout MessageReader) throws(KeychainFailure) -> Value
    ) -> Received<Value> {
        do {
            // SAFETY: the reader is used within this call only.
            var reader = unsafe MessageReader(message)
            return .message(try read(&reader))
        } catch {
            return .unreadable(error)
        }
    }

    /// Receives until `count` bytes are pending.
    /// - Returns: `nil` once they are pending, or the reason why they aren't.
    private func fill<Value>(
        _ count: Int, from socket: UnixSocket, until deadline: Deadline
    ) -> Received<Value>? {
        if pending.lowerBound + count > Self.byteCount { moveToFront() }
        while pending.count < count {
            // SAFETY: the region after the pending bytes is free.
            let free = unsafe UnsafeMutableRawBufferPointer(
                rebasing: block[pending.upperBound...])
            switch unsafe socket.receive(into: free, until: deadline) {
            case .moved(let moved): pending = pending.lowerBound..<pending.upperBound + moved
            case let other: return Received(other)
            }
        }
        return nil
    }

    private func moveToFront() {
        guard let base = unsafe block.baseAddress, pending.lowerBound > 0 else { return }
        // SAFETY: both regions lie in the block; they may overlap, which memmove allows.
        unsafe memmove(base, base + pending.lowerBound, pending.count)
        let erased = max(pending.count, pending.lowerBound)..<pending.upperBound
        unsafe explicit_bzero(base + erased.lowerBound, erased.count)
        pending = 0..<pending.count
    }

    /// Erases the first `count` pending bytes, which were decoded or copied.
    private func consume(_ count: Int) {
        // SAFETY: the bytes are pending, and so in the block.
        if let base = unsafe block.baseAddress {
            unsafe explicit_bzero(base + pending.lowerBound, count)
        }
        pending = pending.lowerBound + count..<pending.upperBound
        if pending.isEmpty { pending = 0..<0 }
    }
}

extension MessageBuffer.Received {
    /// The outcome for a transfer that moved no bytes.
    fileprivate init(_ transfer: UnixSocket.Transfer) {
        self =
            switch transfer {
            case .moved, .closed: .closed
            case .timedOut: .timedOut
            case .failed(let code): .failed(code)
            }
    }
}
