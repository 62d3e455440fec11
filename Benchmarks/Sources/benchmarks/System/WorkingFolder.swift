// WorkingFolder: the folders of a run, which are removed at its end. One folder is on a disk. The
// other is in memory, and exists only if the system has memory that can be used as a folder.

import Foundation

struct FolderFailure: Error, CustomStringConvertible {
    let description: String
}

struct WorkingFolder {
    let disk: String
    /// A folder in memory, where writes don't wait for a disk. `nil` if the system has none.
    let memory: String?

    init(in parent: String) throws {
        disk = try Self.make(in: parent)
        let shared = "/dev/shm"
        memory = Self.isWritable(shared) ? try Self.make(in: shared) : nil
    }

    func remove() {
        for folder in [disk, memory].compactMap({ $0 }) {
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    /// Creates a folder with a name that nobody can predict and with mode 700.
    private static func make(in parent: String) throws -> String {
        try FileManager.default.createDirectory(
            atPath: parent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        var path = Array("\(parent)/benchmarks-XXXXXX".utf8CString)
        // SAFETY: the array ends with 0, and `mkdtemp` writes only within it.
        guard unsafe mkdtemp(&path) != nil else {
            throw FolderFailure(description: "Error \(errno) for a new folder in \(parent).")
        }
        // SAFETY: the bytes are read only during this call.
        return unsafe path.withUnsafeBytes {
            unsafe String(decoding: $0.dropLast(), as: UTF8.self)
        }
    }

    private static func isWritable(_ path: String) -> Bool {
        FileManager.default.isWritableFile(atPath: path)
    }

    /// Copies a folder of plain files that no process has open, and synchronizes the disks.
    static func copy(_ source: String, to target: String) throws {
        let files = FileManager.default
        try files.createDirectory(
            atPath: target, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        for name in try files.contentsOfDirectory(atPath: source) {
            try files.copyItem(atPath: source + "/" + name, toPath: target + "/" + name)
        }
        sync()
    }

    /// Reads a file or all files in a folder, so that they are in the page cache.
    ///
    /// Data that was written some time ago may no longer be cached. A benchmark that loads items
    /// would then measure the disk.
    static func warm(_ path: String) throws {
        if let names = try? FileManager.default.contentsOfDirectory(atPath: path) {
            for name in names { try warm(path + "/" + name) }
            return
        }
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        while let part = try file.read(upToCount: 1 << 20), !part.isEmpty {}
        try file.close()
    }

    /// The free space at a path in bytes.
    static func freeByteCount(at path: String) -> Int {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
        return (attributes?[.systemFreeSize] as? NSNumber)?.intValue ?? .max
    }
}
