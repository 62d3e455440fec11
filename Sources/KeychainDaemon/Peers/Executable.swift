// Executable: the program file that a process runs.
//   (1) Path and file belong together: the file that the process runs is the one that stands at
//       the path, as this process sees it. A program that was deleted, replaced, or that runs in
//       another view of the file system has no path that says what it is, and is refused.

import Glibc
import KeychainCrypto

/// The program of a process, for as long as it takes to say what it is entitled to.
struct Executable: Sendable {
    /// Absolute, without symbolic links.
    let path: String
    let file: FileIdentity
    /// Names the file, whatever its path leads to later.
    private let descriptor: OwnedDescriptor

    /// Reads what a process runs now.
    init(of pid: pid_t) throws(PeerRefusal) {
        let link = "/proc/\(pid)/exe"
        guard let path = Files.target(ofLink: link), path.hasPrefix("/"),
            let descriptor = Files.locate(link), let status = Files.status(of: descriptor)
        else {
            throw .unreadableExecutable(pid: pid, reason: errorText(errno))
        }
        self.path = path
        self.descriptor = descriptor
        file = status.identity
        guard status.isPlainFile,
            let named = Files.status(ofLink: path)?.identity, named.isSameFile(as: file)
        else {
            throw .replacedExecutable(pid: pid, path: path)
        }
    }

    /// The program at a path, for comparison.
    init?(at path: String) {
        guard let descriptor = Files.locate(path), let status = Files.status(of: descriptor) else {
            return nil
        }
        self.path = path
        self.descriptor = descriptor
        file = status.identity
    }

    func isSame(as other: Executable) -> Bool {
        path == other.path && file.isSameFile(as: other.file)
    }

    /// SHA-256 of the file that runs. nil: it can't be read, or changed meanwhile.
    func digest() -> [UInt8]? {
        guard
            let content = Files.open("/proc/self/fd/\(descriptor.number)", O_RDONLY),
            let digest = try? Fingerprint.sha256(ofFile: content.number),
            Files.status(of: content)?.identity.isUnwritten(since: file) == true
        else { return nil }
        return digest
    }
}
