// MessageBuffer: receives frames from a socket, one after the other.
//   (1) The size of a message is held against the limit before anything is set aside for it.
//   (2) What was received is overwritten when its message has been read: it may hold a secret.
//   (3) One thread at a time uses it: the one that has its connection.

import Glibc
import KeychainCore
import KeychainWire

/// The receiving side of a connection.
@safe
final class MessageBuffer {
    /// Most messages are received in one piece, together with their header.
    private static let byteCount = 16 << 10

    private let block: UnsafeMutableRawBufferPointer
    /// The bytes in the block that were received and not yet read.
    private var pending = 0..<0
    private let limit: Int

    /// - Parameter limit: The most bytes of a message.
    init(limit: Int) {
        // SAFETY: the block is this object's until deinit.
        unsafe block = .allocate(byteCount: Self.byteCount, alignment: 16)
        self.limit = limit
    }

    deinit {
        // SAFETY: no reference to this object is left, so none to its block.
        if let base = unsafe block.baseAddress { unsafe explicit_bzero(base, block.count) }
        unsafe block.deallocate()
    }

    /// What came of waiting for a message.
    enum Received<Value> {
        case message(Value)
        /// The other side is gone.
        case closed
        case timedOut
        /// What came is no message.
        case unreadable(KeychainFailure)
        /// `errno`.
        case failed(Int32)
    }

    /// Whether bytes of a message are here already, so that the socket needn't have any.
    var isPending: Bool { !pending.isEmpty }

    /// Receives the next message, and reads it.
    ///
    /// - Parameters:
    ///   - socket: Where from.
    ///   - deadline: Until when.
    ///   - read: Reads the message, which it was before it is erased.
    /// - Returns: What `read` gave.
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
        // SAFETY: fill put so many bytes into the block.
        return unsafe Self.value(
            of: UnsafeRawBufferPointer(
                rebasing: block[pending.lowerBound..<pending.lowerBound + size]), read)
    }

    /// A message that doesn't fit into the block goes into a buffer of its own.
    private func largeMessage<Value>(
        _ size: Int, from socket: UnixSocket, until deadline: Deadline,
        _ read: (inout MessageReader) throws(KeychainFailure) -> Value
    ) -> Received<Value> {
        var end: Received<Value>?
        // SAFETY: each piece is shorter than what is left of the target.
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

    /// Receives until so many bytes are pending.
    /// - Returns: nil when they are.
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

    /// Erases what was read.
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
    /// A transfer that moved nothing.
    fileprivate init(_ transfer: UnixSocket.Transfer) {
        self =
            switch transfer {
            case .moved, .closed: .closed
            case .timedOut: .timedOut
            case .failed(let code): .failed(code)
            }
    }
}
