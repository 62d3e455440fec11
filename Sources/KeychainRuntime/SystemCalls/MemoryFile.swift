// MemoryFile: files in memory that pass a secret to another program.
//   (1) They have no name in a folder, and disappear with the last process that has them open.
//   (2) Once created, their bytes and size can't be changed by any process. They aren't executable,
//       and from Linux 6.3 on no process can make them executable.

import Glibc
package import KeychainCrypto
package import KeychainCore

package enum MemoryFile {
    /// MFD_CLOEXEC, MFD_ALLOW_SEALING and MFD_NOEXEC_SEAL of linux/memfd.h.
    private static let closeOnExec: CUnsignedInt = 1
    private static let allowSealing: CUnsignedInt = 2
    private static let neverExecuted: CUnsignedInt = 8

    /// F_ADD_SEALS of linux/fcntl.h, and the seals for sealing, shrinking, growing and writing.
    private static let addSeals: Int32 = 1033
    private static let seals: Int32 = 1 | 2 | 4 | 8

    private typealias Create = @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> Int32

    /// Creates a file with these bytes, readable by this user only and opened at its beginning.
    /// Child programs don't inherit it before ``give(_:as:)`` is called.
    ///
    /// - Returns: `nil` with `errno` set if it can't be created.
    package static func make(of bytes: SecretBytes) -> OwnedDescriptor? {
        // Kernels before 6.3 reject the last flag.
        guard let file = create(neverExecuted) ?? (errno == EINVAL ? create(0) : nil),
            bytes.write(to: file.number, at: 0), fchmod(file.number, 0o400) == 0,
            fcntl(file.number, addSeals, seals) == 0
        else { return nil }
        return file
    }

    private static func create(_ flags: CUnsignedInt) -> OwnedDescriptor? {
        // SAFETY: the symbol is glibc's `int memfd_create(const char *, unsigned int)`, which the
        // Glibc module doesn't import; the name is a terminated copy for the call.
        guard let symbol = unsafe dlsym(nil, "memfd_create") else {
            errno = ENOSYS
            return nil
        }
        let create = unsafe unsafeBitCast(symbol, to: Create.self)
        let file = StandardStreams.moveAbove(
            unsafe create("secret", closeOnExec | allowSealing | flags))
        return file >= 0 ? OwnedDescriptor(file) : nil
    }

    /// Lets programs that are started from now on inherit a file, under its own descriptor number
    /// or under another, whose previous file is closed. Under its own number, the file stays open
    /// when `file` is released.
    ///
    /// - Returns: The descriptor number. `nil` with `errno` set if it isn't available.
    package static func give(_ file: OwnedDescriptor, as number: Int32? = nil) -> Int32? {
        // For equal numbers, dup2 has no effect: it would leave the close-on-exec flag set.
        guard let number, number != file.number else {
            return fcntl(file.number, F_SETFD, 0) == 0 ? file.handOn() : nil
        }
        return dup2(file.number, number) == number ? number : nil
    }
}
