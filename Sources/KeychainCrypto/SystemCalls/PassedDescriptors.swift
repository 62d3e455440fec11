// PassedDescriptors: descriptors that go from one process to another over a Unix socket.
//   (1) One message carries one descriptor. What else comes with a message is dropped by the kernel
//       before this process has it.
//   (2) A descriptor that was taken isn't inherited by programs that are started later.

import Glibc

extension UnixSockets {
    /// SCM_RIGHTS and MSG_CMSG_CLOEXEC of sys/socket.h.
    private static let rightsMessage: Int32 = 1
    private static let closeOnExec: Int32 = 0x4000_0000
    private static let headerByteCount = MemoryLayout<cmsghdr>.size
    private static let controlByteCount = headerByteCount + MemoryLayout<Int32>.size

    /// Sends bytes that fit into an empty socket, with a descriptor, without waiting. False: they
    /// didn't go, or not all.
    package static func send(
        _ bytes: [UInt8], passing descriptor: OwnedDescriptor, to socket: OwnedDescriptor
    ) -> Bool {
        var header = cmsghdr()
        header.cmsg_len = controlByteCount
        header.cmsg_level = SOL_SOCKET
        header.cmsg_type = rightsMessage
        // What is sent is as long as a header and a number, rounded up to words.
        var control = [UInt64](repeating: 0, count: (controlByteCount + 7) / 8)
        // SAFETY: the array has room for the header and the number behind it.
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

    /// Receives some bytes that are there already, and the descriptor that came with them.
    /// - Returns: No bytes at the end; nil where it failed or there are none, and `errno` says why.
    package static func receive(
        atMost limit: Int, withDescriptorFrom socket: Int32
    ) -> (bytes: [UInt8], descriptor: OwnedDescriptor?)? {
        var bytes = [UInt8](repeating: 0, count: limit)
        var control = [UInt64](repeating: 0, count: (controlByteCount + 7) / 8)
        var controlCount = 0
        // Room for one descriptor: others are closed by the kernel.
        let count = unsafe withMessage(&bytes, &control, controlByteCount) { message in
            let count = unsafe recvmsg(socket, &message, Int32(MSG_DONTWAIT) | closeOnExec)
            controlCount = unsafe Int(message.msg_controllen)
            return count
        }
        guard count >= 0 else { return nil }
        var descriptor: OwnedDescriptor?
        if controlCount >= controlByteCount {
            // SAFETY: the array holds a header and a number, and is aligned for both.
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

    /// Calls `body` with a message of these bytes and this control information.
    private static func withMessage(
        _ bytes: inout [UInt8], _ control: inout [UInt64], _ controlByteCount: Int,
        _ body: (inout msghdr) -> Int
    ) -> Int {
        // SAFETY: the message points to the two arrays with their sizes, within these closures
        // only; the kernel writes no further.
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
