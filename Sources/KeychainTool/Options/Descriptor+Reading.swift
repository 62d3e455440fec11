// Descriptor+Reading: what a command reads from file descriptors, and which are open.

import FoundationEssentials
import Glibc
import KeychainCrypto

extension Descriptor {
    static var openNumbers: [Int32] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return (names ?? []).compactMap { Int32($0) }
    }

    /// Keeps what the caller left open from programs that are started: a passcode's, for instance.
    static func closeInheritedOnExec() {
        openNumbers.filter { $0 > STDERR_FILENO }.forEach(setClosedOnExec)
    }

    /// Whether what is read from one descriptor is gone for the other: they are one, or both are
    /// the same pipe or socket.
    static func isSameInput(_ first: Int32, _ second: Int32) -> Bool {
        if first == second { return true }
        guard let a = Files.systemStatus(of: first), let b = Files.systemStatus(of: second) else {
            return false
        }
        return a.st_dev == b.st_dev && a.st_ino == b.st_ino
            && [S_IFIFO, S_IFSOCK].contains(a.st_mode & S_IFMT)
    }

    /// Reads to the end.
    /// - Throws: Also when there are more than `limit` bytes.
    static func readToEnd(of descriptor: Int32, atMost limit: Int) throws(ControlFailure) -> [UInt8]
    {
        var bytes: [UInt8] = []
        while true {
            guard isInherited(descriptor),
                let part = try? [UInt8](readingFrom: descriptor, atMost: 1 << 16)
            else {
                throw ControlFailure(
                    .failure,
                    "Can't read descriptor \(descriptor): \(errorText(errno)). Name one that is open "
                        + "for reading.")
            }
            if part.isEmpty { return bytes }
            guard bytes.count + part.count <= limit else {
                throw ControlFailure(
                    .failure,
                    "The input is larger than \(limit) bytes, the most that an item holds. Nothing was "
                        + "saved. Keep it in a file, under a key that the keychain holds.")
            }
            bytes += part
        }
    }
}
