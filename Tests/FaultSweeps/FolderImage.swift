// FolderImage: a copy of all files below a folder, which can be written to another folder.

package import Foundation

package struct FolderImage: Sendable {
    package enum Entry: Hashable, Sendable {
        case folder
        case file(Data)
    }

    /// The files and folders, by their paths below the folder.
    package var entries: [String: Entry] = [:]

    package init(entries: [String: Entry] = [:]) {
        self.entries = entries
    }

    /// Reads a folder.
    package init(of folder: String) {
        let files = FileManager.default
        for path in (try? files.subpathsOfDirectory(atPath: folder)) ?? [] {
            let place = folder + "/" + path
            let attributes = try? files.attributesOfItem(atPath: place)
            entries[path] =
                attributes?[.type] as? FileAttributeType == .typeDirectory
                ? .folder : .file(files.contents(atPath: place) ?? Data())
        }
    }

    /// The content of a file, or `nil` if there is none.
    package func content(of path: String) -> Data? {
        guard case .file(let content) = entries[path] else { return nil }
        return content
    }

    /// Creates a folder with these files, which only the owner can access. An existing folder is
    /// replaced.
    package func layOut(at folder: String) throws {
        let files = FileManager.default
        try? files.removeItem(atPath: folder)
        try files.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        // A folder is created before its content.
        for (path, entry) in entries.sorted(by: { $0.key < $1.key }) {
            let place = folder + "/" + path
            switch entry {
            case .folder:
                try files.createDirectory(
                    atPath: place, withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            case .file(let content):
                guard
                    files.createFile(
                        atPath: place, contents: content,
                        attributes: [.posixPermissions: 0o600])
                else { throw CocoaError(.fileWriteUnknown) }
            }
        }
    }

    /// The file name of a keychain's database. Each rotation of the keys creates a database with
    /// another name; the latest name is returned.
    package func database(in keychain: String) -> String {
        let names = entries.keys.filter {
            $0.hasPrefix(keychain + "/keychain-") && $0.hasSuffix(".db")
        }
        .map { $0.dropFirst(keychain.count + 1) }
        let last = names.max { ($0.count, $0) < ($1.count, $1) }
        return last.map { String($0) } ?? "keychain.db"
    }

    /// The present name of a keychain's file, given the name that it has before any rotation.
    package func present(_ file: String, in keychain: String) -> String {
        file.hasPrefix("keychain.db")
            ? database(in: keychain) + file.dropFirst("keychain.db".count) : file
    }

    /// The files and folders in this image that don't belong to a keychain when no process is
    /// changing the keychain. Any unknown file may contain a key.
    package func leftovers(besides keychain: String) -> [String] {
        let database = self.database(in: keychain)
        let known =
            ["device.key", "keybag", "anchor", "lock", "in-use"].map { keychain + "/" + $0 }
            + ["", "-wal", "-shm"].map { keychain + "/" + database + $0 }
        return entries.keys.filter { path in
            !known.contains(path) && !(keychain + "/").hasPrefix(path + "/")
                && !path.hasPrefix(keychain + "/damaged-")
        }.sorted()
    }
}
