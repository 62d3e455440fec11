// PassedDescriptors: passes file descriptors from one process to another over a Unix socket.
//   (1) One message carries one descriptor. The kernel drops any further descriptors of a message
//       before this process receives them.
//   (2) Programs that are started later don't inherit a received descriptor.

import Glibc

extension UnixSockets {
    /// SCM_RIGHTS and MSG_CMSG_CLOEXEC of sys/socket.h.
    private static let rightsMessage: Int32 = 1
    private static let closeOnExec: Int32 = 0x4000_0000
    private static let headerByteCount = MemoryLayout<cmsghdr>.size
    private static let controlByteCount = headerByteCount + MemoryLayout<Int32>.size

    /// Sends bytes and a descriptor without blocking. The bytes must fit into an empty socket
    /// buffer. Returns `false` if not all bytes were sent.
    package static func send(
        _ bytes: [UInt8], passing descriptor: OwnedDescriptor, to socket: OwnedDescriptor
    ) -> Bool {
        var header = cmsghdr()
        header.cmsg_len = controlByteCount
        header.cmsg_level = SOL_SOCKET
        header.cmsg_type = rightsMessage
        // The array has room for a header and a number. Its size is rounded up to whole words.
        var control = [UInt64](repeating: 0, count: (controlByteCount + 7) / 8)
        // SAFETY: the array has room for the header followed by the number.
        unsafe control.withUnsafeMutableBytes { target in
            unsafe withUnsafeBytes(of: &header) { source in
                unsafe target.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: source[..<headerByteCount]))
            }
            unsafe target.storeBytes(
                of: descriptor.number, toByteOffset: headerByteCount, as: Int32.self)
        }
        var bytes = bytes
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        let count = unsafe withMessage(&bytes, &control, control.count * 8) { message in
            unsafe sendmsg(socket.number, &message, flags)
        }
        return count == bytes.count
    }

    /// Receives available bytes and the descriptor that was sent with them, without blocking.
    /// - Returns: No bytes if the connection was closed at the other end; `nil` if no bytes are
    ///   available or receiving failed. `errno` then contains the reason.
    package static func receive(
        atMost limit: Int, withDescriptorFrom socket: Int32
    ) -> (bytes: [UInt8], descriptor: OwnedDescriptor?)? {
        var bytes = [UInt8](repeating: 0, count: limit)
        var control = [UInt64](repeating: 0, count: (controlByteCount + 7) / 8)
        var controlCount = 0
        // The control data has room for one descriptor. The kernel drops any further ones.
        let count = unsafe withMessage(&bytes, &control, controlByteCount) { message in
            let count = unsafe recvmsg(socket, &message, Int32(MSG_DONTWAIT) | closeOnExec)
            controlCount = unsafe Int(message.msg_controllen)
            return count
        }
        guard count >= 0 else { return nil }
        var descriptor: OwnedDescriptor?
        if controlCount >= controlByteCount {
            // SAFETY: the array contains a header and a number, and is aligned for both.
            unsafe control.withUnsafeBytes { control in
                let header = unsafe control.load(as: cmsghdr.self)
                guard header.cmsg_level == SOL_SOCKET,
                    header.cmsg_type == rightsMessage
                else { return }
                let number = unsafe control.load(fromByteOffset: headerByteCount, as: Int32.self)
                descriptor = OwnedDescriptor(StandardStreams.moveAbove(number))
            }
        }
        return (Array(bytes[..<count]), descriptor)
    }

    /// Calls `body` with a message of these bytes and this control data.
    private static func withMessage(
        _ bytes: inout [UInt8], _ control: inout [UInt64], _ controlByteCount: Int,
        _ body: (inout msghdr) -> Int
    ) -> Int {
        // SAFETY: the message points to the two arrays with their sizes, only within these
        // closures. The kernel doesn't write beyond these sizes.
        unsafe bytes.withUnsafeMutableBytes { data in
            unsafe control.withUnsafeMutableBytes { control in
                var part = unsafe iovec(iov_base: data.baseAddress, iov_len: data.count)
                return unsafe withUnsafeMutablePointer(to: &part) { parts in
                    var message = unsafe msghdr()
                    unsafe message.msg_iov = parts
                    unsafe message.msg_iovlen = 1
                    unsafe message.msg_control = control.baseAddress
                    unsafe message.msg_controllen = controlByteCount
                    return unsafe body(&message)
                }
            }
        }
    }
}
