// BackupFile: a new file that gets its name when it is whole.
//   (1) It is written beside its place under the name with `.part` behind, for its owner alone, and
//       is on the disk before it is renamed.
//   (2) Nothing that has the name is replaced unless that is asked for. What has it stays whole until
//       then.
//   (3) A process that was killed leaves its part behind, encrypted as the backup is; the next one
//       takes its place.

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
        guard replaces || there == nil else { throw Self.exists(path) }
        guard there?.isPlainFile ?? true else {
            throw ControlFailure(.exists, "\(printable(path)) is no plain file. Name another.")
        }
        guard let file = Files.open(part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        else {
            let code = errno
            throw ControlFailure(
                code == EACCES ? .denied : .failure,
                "Can't write \(printable(part)): \(errorText(code)).")
        }
        guard let status = Files.status(of: file), status.isPlainFile, status.owner == geteuid()
        else {
            throw ControlFailure(
                .denied, "\(printable(part)) is another user's, or no plain file. Remove it.")
        }
        guard Files.lock(file) else {
            throw ControlFailure(.failure, "Another process writes \(printable(path)).")
        }
        guard fchmod(file.number, 0o600) == 0, ftruncate(file.number, 0) == 0 else {
            throw ControlFailure(
                .failure, "Can't write \(printable(part)): \(errorText(errno)).")
        }
        self.file = file
    }

    /// Gives the file its name.
    func commit() throws(ControlFailure) {
        guard fsync(file.number) == 0 else { throw failed() }
        if !replaces {
            // Two names for a moment: what came there meanwhile isn't replaced.
            if Files.link(part, as: path) {
                Files.remove(part)
                return sync()
            }
            if errno == EEXIST { throw Self.exists(path) }
            // A file system that has no second names.
            guard Files.status(ofLink: path) == nil else { throw Self.exists(path) }
        }
        guard Files.rename(part, path) else { throw failed() }
        sync()
    }

    func discard() { Files.remove(part) }

    /// The name is on the disk then, where the file system can do that.
    private func sync() {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        if let folder = Files.open(folder, O_RDONLY | O_DIRECTORY) { _ = fsync(folder.number) }
    }

    private func failed() -> ControlFailure {
        ControlFailure(.failure, "Can't write \(printable(path)): \(errorText(errno)).")
    }

    private static func exists(_ path: String) -> ControlFailure {
        ControlFailure(
            .exists, "\(printable(path)) exists already. With --overwrite it is replaced.")
    }
}
