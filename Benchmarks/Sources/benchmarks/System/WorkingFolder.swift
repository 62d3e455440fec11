// WorkingFolder: the folders of a run, which are removed at its end. One is on a disk and one in
// memory.

import Foundation

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

    private static func make(in parent: String) throws -> String {
        let path = parent + "/benchmarks-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return path
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
    /// Data that was written some time ago may no longer be cached. A load would then measure the
    /// disk.
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
