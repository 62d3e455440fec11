// Sockets+PeerAddress: the address that a peer has bound its socket to, and sending bytes to the
// peer.

import FoundationEssentials
import Glibc
import KeychainCrypto

extension Sockets {
    /// The abstract name of the peer's socket, without its leading zero byte. `nil` if the socket
    /// has no name, or if its name is a path.
    static func abstractName(ofPeerOf socket: OwnedDescriptor) -> [UInt8]? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        // SAFETY: the structure is one of those that `sockaddr` stands for, and is written within
        // its size, within the call.
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getpeername(socket.number, $0, &size)
            }
        }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        guard code == 0, Int(size) > start + 1, Int(size) <= MemoryLayout<sockaddr_un>.size else {
            return nil
        }
        // SAFETY: the bytes of the structure are read within the closure.
        let bytes = unsafe withUnsafeBytes(of: &address) { unsafe Array($0[start..<Int(size)]) }
        return bytes.first == 0 ? Array(bytes.dropFirst()) : nil
    }

    /// Sets the size of a socket's send buffer, so that `byteCount` bytes can be sent before the
    /// peer receives any. The kernel limits the buffer to twice `net.core.wmem_max`, including its
    /// own structures.
    static func setSendBuffer(_ byteCount: Int32, of socket: OwnedDescriptor) {
        var value = byteCount
        // SAFETY: the value is read within the call.
        _ = unsafe setsockopt(
            socket.number, SOL_SOCKET, SO_SNDBUF, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Sends as many bytes as the socket accepts now.
    /// - Returns: The number of bytes, or -1 with `errno` set if it failed.
    static func send(_ bytes: Data, to socket: OwnedDescriptor) -> Int {
        // SAFETY: the bytes are read within the call.
        unsafe bytes.withUnsafeBytes { unsafe UnixSockets.send($0, to: socket.number) }
    }
}
