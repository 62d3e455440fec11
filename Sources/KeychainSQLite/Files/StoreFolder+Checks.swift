// StoreFolder+Checks: checks of the files in a keychain's folder. Another program may have put a
// file there, or made one accessible to other users.
//   (1) Nothing outside the folder is read, written or removed through a link in the folder.
//   (2) Opening a file that isn't regular, such as a pipe, never blocks.
//   (3) A file with a second hard link isn't written in place, because the changes would also be
//       visible through the other link, which may be in any folder.
//   (4) A file that is refused is left unchanged. The error names it and says what the user can do.

import Glibc
package import KeychainCore
import KeychainCrypto

extension StoreFolder {
    /// Refuses a folder if ``check(_:)`` refuses one of the keychain files in it, or if
    /// ``requireOneDatabase()`` refuses the folder.
    ///
    /// `keybag` is excepted: its content is in the database, so the file is ignored and written
    /// again.
    package func checkFiles() throws(KeychainFailure) {
        for name in names where Self.isFileName(name) && name != File.keybag.rawValue {
            try Self.check(path + "/" + name)
        }
        try located.requireOneDatabase()
    }

    private static func isFileName(_ name: String) -> Bool {
        if File(rawValue: name) != nil { return true }
        let database = name.hasSuffix("-shm") ? String(name.dropLast(4)) : name
        return number(ofDatabase: database) != nil
    }

    /// Refuses a file that isn't a regular file of this user, that other users can access, or that
    /// has a second hard link. A missing file is permitted.
    package func check(_ file: File) throws(KeychainFailure) {
        try Self.check(path(of: file))
    }

    private static func check(_ path: String) throws(KeychainFailure) {
        guard let status = SystemCalls.status(ofLink: path), let what = objection(to: status) else {
            return
        }
        throw .notPermitted("\(path) \(what.replacing("PATH", with: path))")
    }

    /// A description of the problem with a file of a keychain and of what the user can do. In the
    /// description, PATH stands for the file's path. `nil` if the file has no such problem.
    private static func objection(to status: stat) -> String? {
        let kind: String? =
            switch status.st_mode & S_IFMT {
            case S_IFREG: nil
            case S_IFDIR: "a folder"
            case S_IFLNK: "a symbolic link"
            case S_IFIFO: "a pipe"
            case S_IFSOCK: "a socket"
            default: "a device"
            }
        if let kind {
            return "is \(kind), but must be a regular file. Nothing was changed. Move it to "
                + "another folder, then restore the missing file from a backup or run "
                + "`keychainctl recover`."
        }
        if status.st_uid != geteuid() {
            return
                "belongs to another user (uid \(status.st_uid)). Nothing was changed. Check its "
                + "contents, and change its owner to this user."
        }
        if status.st_mode & 0o077 != 0 {
            return "is accessible to other users. Run `chmod 600 PATH`; if another user may have "
                + "read it, its secrets are no longer secret."
        }
        // A link count of 0 means that the file has just been removed.
        if status.st_nlink > 1 {
            return
                "has a second hard link, through which every change would be visible. Nothing was "
                + "changed. Replace it with a copy: `cp -p PATH PATH.copy && mv PATH.copy "
                + "PATH`."
        }
        return nil
    }

    /// Opens a file that `check` doesn't refuse. With `O_CREAT`, creates it if it is missing.
    /// - Returns: A descriptor that the caller closes. -1 on failure, with the reason in `errno`.
    func open(_ file: File, _ flags: Int32) -> Int32 {
        let descriptor = SystemCalls.open(
            path(of: file), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        guard descriptor >= 0 else { return -1 }
        if let status = Files.systemStatus(of: descriptor), Self.objection(to: status) == nil {
            return descriptor
        }
        close(descriptor)
        errno = EPERM
        return -1
    }

    /// Refuses a folder that contains, in addition to the database in use, one with a lower number.
    /// A finished rotation never leaves the lower one behind, so another program put one of the two
    /// databases there. The device key may belong to either of them.
    package func requireOneDatabase() throws(KeychainFailure) {
        // A rotation removes the old database first, and the folder `rotation-n` after it. So only
        // while that folder exists can an old database be left from a rotation.
        guard number > 0, !isStaged(number) else { return }
        let other = names.first { name in
            name.hasSuffix(".db") && Self.number(ofDatabase: name).map { $0 < number } ?? false
                && SystemCalls.status(ofLink: path + "/" + name) != nil
        }
        let last = [File.database, .writeAheadLog, .recoveredDatabase].first { exists($0) }
        guard let other, let last else { return }
        let name = path(of: last).dropFirst(path.count + 1)
        throw KeychainFailure(
            .notAvailable,
            "\(path) contains both \(other) and \(name), which never happens in normal operation. "
                + "Nothing was changed. If a backup was restored over a later keychain, restore it "
                + "into an empty folder instead. If another program created \(name), remove that "
                + "file\(byteCount(of: last) == 0 ? ": it is empty" : "").",
            cause: .damage)
    }
}
