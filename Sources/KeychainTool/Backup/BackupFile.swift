// BackupFile: a new file that gets its name when it is complete.
//   (1) It is written in the destination folder under the name with `.part` appended, accessible
//       only to its owner, and is synchronized to disk before it is renamed.
//   (2) An existing file is replaced only if requested, and stays intact until the new file is
//       complete.
//   (3) If the process is killed, the partial file remains: that of a backup is encrypted, that of
//       `export` is not. The next attempt overwrites it.

import Glibc
import KeychainCrypto

struct BackupFile: ~Copyable {
    private let path: String
    private let part: String
    private let replaces: Bool
    private let file: OwnedDescriptor

    var descriptor: Int32 { file.number }

    init(_ path: String, replaces: Bool) throws(ControlFailure) {
        self.path = path
        self.replaces = replaces
        part = path + ".part"
        let there = Files.status(ofLink: path)
        // Checked first, because the error about an existing file recommends --overwrite, which
        // replaces neither a folder nor a link.
        guard there?.isPlainFile ?? true else {
            throw ControlFailure(
                .exists, "\(printable(path)) is not a regular file. Choose another name.")
        }
        guard replaces || there == nil else { throw Self.exists(path) }
        let file = try Self.openPart(part, of: path)
        guard fchmod(file.number, 0o600) == 0, ftruncate(file.number, 0) == 0 else {
            throw ControlFailure(
                .failure, "Can't write \(printable(part)): \(errorText(errno)).")
        }
        self.file = file
    }

    /// Opens and locks the partial file, which is created if there is none.
    private static func openPart(
        _ part: String, of path: String
    ) throws(ControlFailure) -> OwnedDescriptor {
        for _ in 0..<8 {
            guard
                let file = Files.open(
                    part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
            else {
                let code = errno
                throw ControlFailure(
                    code == EACCES ? .denied : .failure,
                    "Can't write \(printable(part)): \(errorText(code)).")
            }
            guard let status = Files.status(of: file), status.isPlainFile, status.owner == geteuid()
            else {
                throw ControlFailure(
                    .denied,
                    "\(printable(part)) belongs to another user, or is not a regular file. "
                        + "Remove it.")
            }
            guard Files.lock(file) else { break }
            let isNamed = { (name: String) in
                Files.status(ofLink: name)?.identity.isSameFile(as: status.identity) == true
            }
            // Another process may have completed or removed the file after it was opened here.
            guard isNamed(part) else { continue }
            guard isNamed(path) else { return file }
            // A process that was killed in `commit` left the complete file with both names.
            Files.remove(part)
        }
        throw ControlFailure(.failure, "Another process is writing \(printable(path)).")
    }

    /// Renames the complete file to its final name, or removes it if that fails.
    func commit() throws(ControlFailure) {
        do throws(ControlFailure) {
            try moveIntoPlace()
        } catch {
            discard()
            throw error
        }
        sync()
    }

    private func moveIntoPlace() throws(ControlFailure) {
        guard fsync(file.number) == 0 else { throw failed() }
        if !replaces {
            // Linking, unlike renaming, doesn't replace a file that was created since the check in
            // `init`. For a moment the new file has two names.
            if Files.link(part, as: path) {
                Files.remove(part)
                return
            }
            if errno == EEXIST { throw Self.exists(path) }
            // Linking can fail for other reasons, above all in a file system without hard links.
            // The file is then renamed, which replaces a file that is created after this check.
            guard Files.status(ofLink: path) == nil else { throw Self.exists(path) }
        }
        guard Files.rename(part, path) else { throw failed() }
    }

    func discard() { Files.remove(part) }

    /// Synchronizes the file's folder, so that the name is durable if the file system supports
    /// that.
    private func sync() {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        if let folder = Files.open(folder, O_RDONLY | O_DIRECTORY) { _ = fsync(folder.number) }
    }

    private func failed() -> ControlFailure {
        ControlFailure(.failure, "Can't write \(printable(path)): \(errorText(errno)).")
    }

    private static func exists(_ path: String) -> ControlFailure {
        ControlFailure(
            .exists, "\(printable(path)) already exists. --overwrite replaces it.")
    }
}
