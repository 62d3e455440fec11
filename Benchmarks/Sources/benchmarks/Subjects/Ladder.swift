// Ladder: keychains of increasing size, filled through the public interface, and for each size a
// `Floor`: one SQLite table with as many sealed secrets.
//   (1) One keychain, the source, is filled to each size in turn, each time by a new process. When
//       that process has ended, the source is copied.
//   (2) If possible, the source is in memory, where writes don't wait for a disk. The copies are on
//       the disk and are measured there.
//   (3) Measured saves change only the copy of one size, never the source of the next size.

import BenchmarkFigures
import Foundation

/// A keychain of one size.
struct Level {
    let itemCount: Int
    /// The folder of the keychain on the disk.
    let directory: String
    let floor: Floor
}

struct Ladder {
    let levels: [Level]
    let remarks: [String]

    /// An upper bound of the bytes per item in a keychain or a `Floor`.
    static let bytesPerItem = 2_500

    static func build(_ sizes: [Int], in folder: WorkingFolder) throws -> Ladder {
        try requireSpace(sizes, folder)
        let source = (folder.memory ?? folder.disk) + "/filling"
        Program.note(
            "Filling keychains of \(sizes.map { Format.grouped(Double($0)) }.joined(separator: ", ")) "
                + "items; a million take some minutes.")
        var levels: [Level] = []
        var filled = 0
        for size in sizes {
            _ = try ChildProcess.run(
                ChildProcess.ownPath(), ["role:fill", source, "\(filled)", "\(size)"])
            filled = size
            let directory = folder.disk + "/keychain-\(size)"
            try WorkingFolder.copy(source, to: directory)
            let floor = try Floor(path: folder.disk + "/floor-\(size).db", count: size)
            levels.append(Level(itemCount: size, directory: directory, floor: floor))
        }
        try FileManager.default.removeItem(atPath: source)
        return Ladder(levels: levels, remarks: [remark(folder)])
    }

    func smallest() throws -> Level {
        guard let level = levels.first else { throw UsageError(description: "No sizes.") }
        return level
    }

    func largest() throws -> Level {
        guard let level = levels.last else { throw UsageError(description: "No sizes.") }
        return level
    }

    private static func remark(_ folder: WorkingFolder) -> String {
        folder.memory == nil
            ? "The keychains were filled and measured in \(folder.disk)."
            : "The keychains were filled in memory, where a commit waits for no disk, and copied "
                + "to \(folder.disk), where everything was measured with warm caches."
    }

    private static func requireSpace(_ sizes: [Int], _ folder: WorkingFolder) throws {
        let needed = sizes.reduce(0, +) * bytesPerItem * 2
        for path in [folder.disk, folder.memory].compactMap({ $0 })
        where WorkingFolder.freeByteCount(at: path) < needed {
            throw UsageError(
                description: "\(path) needs \(Format.value(Double(needed), .size)) free; "
                    + "--quick or --folder helps.")
        }
    }
}
