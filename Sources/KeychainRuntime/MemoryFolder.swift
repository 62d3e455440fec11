// MemoryFolder: a folder in memory with one file, for programs that edit a file by its path and may
// replace it with another.
//   (1) The folder is in a file system in memory, and only this user can enter it.
//   (2) `remove()` overwrites and removes all files in the folder, including those that the program
//       put there. If this process is killed before that, the files remain until the user's session
//       ends or the machine is shut down.

package import FoundationEssentials
import Glibc
package import KeychainCore
import KeychainCrypto

package struct MemoryFolder {
    private let folder: String
    /// The path of the file.
    package let path: String

    /// Creates the folder and the file, in the first of `parents` that is writable and in memory.
    ///
    /// - Returns: `nil` with `errno` set if there is no such parent, or if the folder or the file
    ///   can't be created.
    package init?(with content: SecretBytes, in parents: [String]) {
        guard let parent = parents.first(where: Self.isInMemory) else {
            errno = ENOENT
            return nil
        }
        folder = parent + "/keychainctl-" + ItemReference.random().description
        path = folder + "/secret"
        guard Files.makeFolder(folder, mode: 0o700) else { return nil }
        guard
            let file = Files.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600),
            content.write(to: file.number, at: 0)
        else {
            let code = errno
            remove()
            errno = code
            return nil
        }
    }

    /// Whether a path is writable and in memory, by the type of its file system in `mountinfo`. The
    /// third field of a line is the device, and the type follows a field that is a single dash.
    private static func isInMemory(_ path: String) -> Bool {
        guard let device = Files.status(of: path)?.identity.device, Files.mayWrite(path),
            let file = Files.open("/proc/self/mountinfo", O_RDONLY),
            let mounts = Files.content(of: file, atMost: 1 << 24)
        else { return false }
        let major = device >> 8 & 0xFFF | device >> 32 & 0xFFFF_F000
        let minor = device & 0xFF | device >> 12 & 0xFFFF_FF00
        return String(decoding: mounts, as: UTF8.self).split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            guard fields.count > 2, fields[2] == "\(major):\(minor)",
                let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
            else { return false }
            return ["tmpfs", "ramfs"].contains(fields[dash + 1])
        }
    }

    /// The current content of the file. `nil` if it doesn't exist, isn't a plain file of this user,
    /// can't be read or is larger than `limit`.
    package func content(atMost limit: Int) -> Data? {
        guard let file = Files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = Files.status(of: file), status.isPlainFile, status.owner == geteuid()
        else { return nil }
        return Files.content(of: file, atMost: limit)
    }

    /// Overwrites and removes all files, and removes the folder.
    package func remove() {
        Self.overwriteAll(in: folder)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Overwrites the files of a folder and of its subfolders. Files that can't be overwritten and
    /// folders that can't be read are skipped.
    private static func overwriteAll(in folder: String) {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        for path in (names ?? []).map({ folder + "/" + $0 }) {
            guard let status = Files.status(ofLink: path) else { continue }
            if status.isFolder {
                _ = Files.setMode(path, 0o700)
                overwriteAll(in: path)
            } else {
                overwrite(path, status)
            }
        }
    }

    private static func overwrite(_ path: String, _ status: FileStatus) {
        guard status.isPlainFile,
            // A program may have made the file read-only.
            Files.setMode(path, 0o600),
            let file = Files.open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
        else { return }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        for _ in 0...status.identity.size / Int64(zeros.count) {
            guard Descriptor.write(zeros, to: file.number) else { return }
        }
    }
}
