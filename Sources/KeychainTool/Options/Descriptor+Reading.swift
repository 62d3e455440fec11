// Descriptor+Reading: reads a command's input from file descriptors, determines whether two of them
// have the same input, and keeps programs from inheriting them.

import FoundationEssentials
import Glibc
import KeychainCrypto

extension Descriptor {
    static var openNumbers: [Int32] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return (names ?? []).compactMap { Int32($0) }
    }

    /// Prevents programs that this process starts from inheriting its open descriptors, such as one
    /// with a passcode. Standard input, output and error are still inherited.
    static func closeInheritedOnExec() {
        openNumbers.filter { $0 > STDERR_FILENO }.forEach(setClosedOnExec)
    }

    /// Whether bytes that are read from one descriptor are no longer available from the other: the
    /// descriptors are the same, or refer to the same pipe or socket, or to the same regular file
    /// with a shared position. Two descriptors of a terminal don't count, since a user can end the
    /// first input and type the second.
    static func isSameInput(_ first: Int32, _ second: Int32) -> Bool {
        if first == second { return true }
        guard let a = Files.systemStatus(of: first), let b = Files.systemStatus(of: second),
            a.st_dev == b.st_dev, a.st_ino == b.st_ino
        else { return false }
        switch a.st_mode & S_IFMT {
        case S_IFIFO, S_IFSOCK: return true
        case S_IFREG: return sharesPosition(first, second)
        default: return false
        }
    }

    /// Whether moving the position of the first descriptor moves that of the second. The first is
    /// moved back afterwards.
    private static func sharesPosition(_ first: Int32, _ second: Int32) -> Bool {
        let start = lseek(first, 0, SEEK_CUR)
        guard start >= 0, lseek(second, 0, SEEK_CUR) == start,
            lseek(first, 1, SEEK_CUR) == start + 1
        else { return false }
        let isShared = lseek(second, 0, SEEK_CUR) == start + 1
        _ = lseek(first, start, SEEK_SET)
        return isShared
    }

    /// Reads until the end of the input.
    /// - Throws: ``ControlFailure`` if the descriptor can't be read or has more than `limit` bytes.
    static func readToEnd(of descriptor: Int32, atMost limit: Int) throws(ControlFailure) -> [UInt8]
    {
        var bytes: [UInt8] = []
        while true {
            guard isInherited(descriptor),
                let part = try? [UInt8](readingFrom: descriptor, atMost: 1 << 16)
            else {
                throw ControlFailure(
                    .failure,
                    "Can't read descriptor \(descriptor): \(errorText(errno)). Use a descriptor "
                        + "that is open for reading.")
            }
            if part.isEmpty { return bytes }
            guard bytes.count + part.count <= limit else {
                throw ControlFailure(
                    .failure,
                    "The input is larger than \(limit) bytes, the maximum. Nothing was saved.")
            }
            bytes += part
        }
    }
}
