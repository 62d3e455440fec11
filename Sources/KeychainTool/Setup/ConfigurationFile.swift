// ConfigurationFile: another program's configuration file, which is read and replaced as a whole.
//   (1) The new content gets the file's name only once it is on disk; until then the file is
//       unchanged.
//   (2) A symbolic link is preserved, and the file that it leads to is replaced. The new file has
//       the mode and owner of the old one.
//   (3) The file is read again before the new content is written. If another program has changed it
//       since it was first read, that is an error.

import FoundationEssentials
import Glibc
import KeychainCrypto

struct ConfigurationFile {
    /// The path as the user knows it.
    let path: String
    /// The path with all links resolved. If there is no file, the path itself.
    private let place: String
    /// The content of the file, or `nil` if it doesn't exist.
    let content: String?
    /// Whether a new file and its new folders are accessible only to their owner.
    private let isPrivate: Bool

    private static let longest = 1 << 20

    /// Reads a file. Pass `true` for `isPrivate` if it may contain secrets.
    /// - Throws: ``ControlFailure`` if the path exists but doesn't lead to a readable text file of
    ///   at most 1 MiB, for example if it is a broken link, or if this process may not look there.
    init(_ path: String, isPrivate: Bool) throws(ControlFailure) {
        self.path = path
        self.isPrivate = isPrivate
        guard Files.status(ofLink: path) != nil || errno != ENOENT && errno != ENOTDIR else {
            (place, content) = (path, nil)
            return
        }
        guard let file = Files.locate(path),
            let place = Files.target(ofLink: "/proc/self/fd/\(file.number)"),
            let bytes = Self.bytes(at: place), let text = String(validating: bytes, as: UTF8.self)
        else {
            throw ControlFailure(
                .failure,
                "Can't read \(printable(path)): it is not a readable text file, or has more than "
                    + "\(Self.longest) bytes. Nothing was changed.")
        }
        self.place = place
        content = text
    }

    private static func bytes(at path: String) -> Data? {
        // Opening a FIFO in blocking mode would make this process wait for a writer.
        guard let file = Files.open(path, O_RDONLY | O_NONBLOCK),
            Files.status(of: file)?.isPlainFile == true
        else { return nil }
        return Files.content(of: file, atMost: longest)
    }

    /// Replaces the content of the file. If the new content, apart from white space, is empty or an
    /// empty JSON object, the file is deleted instead. But a file is not deleted if its path
    /// contains a symbolic link, isn't absolute, or has a component `.` or `..`.
    func replace(with text: String) throws(ControlFailure) {
        guard Self.bytes(at: place).map(Array.init) == content.map({ Array($0.utf8) }) else {
            throw ControlFailure(
                .failure,
                "Another program changed \(printable(path)) in the meantime. Its change was kept.")
        }
        // The path may have several slashes in a row, for example if the value of DOCKER_CONFIG
        // ends with a slash.
        let plain = "/" + path.split(separator: "/").joined(separator: "/")
        if place == plain, ["", "{}"].contains(text.filter { !$0.isWhitespace }) {
            guard Files.remove(place) else { throw failed() }
            return
        }
        let folder = String(place.prefix(upTo: place.lastIndex(of: "/") ?? place.startIndex))
        if content == nil { try Self.makeFolder(folder, mode: isPrivate ? 0o700 : 0o755) }
        let part = "\(place).\(getpid()).part"
        guard
            let file = Files.open(
                part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: isPrivate ? 0o600 : 0o644)
        else { throw failed() }
        guard keepRights(of: file), Descriptor.write(Array(text.utf8), to: file.number),
            fsync(file.number) == 0, Files.rename(part, place)
        else {
            let failure = failed()
            Files.remove(part)
            throw failure
        }
        if let folder = Files.open(folder, O_RDONLY | O_DIRECTORY) { _ = fsync(folder.number) }
    }

    /// Copies owner and mode from the file that is replaced. The mode is set last, because changing
    /// the owner can clear bits of it.
    private func keepRights(of file: borrowing OwnedDescriptor) -> Bool {
        guard content != nil else { return true }
        guard let old = Files.systemStatus(ofLink: place),
            let new = Files.systemStatus(of: file.number)
        else { return false }
        if old.st_uid != new.st_uid || old.st_gid != new.st_gid {
            guard fchown(file.number, old.st_uid, old.st_gid) == 0 else { return false }
        }
        return fchmod(file.number, old.st_mode & 0o7777) == 0
    }

    static func makeFolder(_ path: String, mode: mode_t) throws(ControlFailure) {
        guard !path.isEmpty, Files.status(of: path) == nil else { return }
        try makeFolder(
            String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)), mode: mode)
        guard Files.makeFolder(path, mode: mode) || errno == EEXIST else {
            throw ControlFailure(
                .failure, "Can't create the folder \(printable(path)): \(errorText(errno)).")
        }
    }

    private func failed() -> ControlFailure {
        let code = errno
        return ControlFailure(
            code == EACCES || code == EPERM ? .denied : .failure,
            "Can't write \(printable(path)): \(errorText(code)). It was not changed.")
    }
}

/// The new text of a file, and the differences.
struct TextChange: Equatable {
    let text: String
    /// The settings and section headings that change, each with its line number, marked `+` if it
    /// is new and `-` if it is old. The rest of the file is left out, because it may be secret.
    let shown: [String]

    static func added(_ line: Int, _ text: String) -> String { "  + \(line): \(text)" }
    static func removed(_ line: Int, _ text: String) -> String { "  - \(line): \(text)" }
}

/// The reason why a text can't be changed.
enum TextProblem: Error, Equatable {
    /// The text can't be parsed, or contains a section or setting twice. The line is the first at
    /// which this is noticed; for JSON, it is always 1.
    case notUnderstood(line: Int)
    /// The setting already has a value, which differs from the one to be set.
    case otherValue(String, line: Int)
}
