// DiskModel: the possible contents of a disk after a power failure, derived from the system calls
// that changed its files.
//   (1) The bytes of a write are on the disk once an fsync or fdatasync of the file after the write
//       has succeeded. Of any other write, all, none or some of the 512-byte sectors may be on the
//       disk.
//   (2) A change of a name (a file or folder is created, renamed or removed) is on the disk once an
//       fsync of the folder after the change has succeeded. Other changes of names reach the disk
//       in their order, as with journaling file systems.
//   (3) The writes that a failed fsync covered may never reach the disk, even if a later fsync
//       succeeds: the kernel no longer considers them dirty.

import Foundation
import TestPrograms

struct DiskModel {
    private enum Change {
        case write(Int, [UInt8])
        case truncate(Int)
    }

    private struct Pending {
        let change: Change
        /// Whether a failed fsync covered the write.
        var isForgotten = false
        /// Whether the write is on the disk. A durable write stays in the list behind an earlier
        /// forgotten write: if that write is applied, it must not overwrite the durable bytes.
        var isDurable = false
    }

    private struct File {
        var durable: [UInt8] = []
        var pending: [Pending] = []
    }

    private enum NameChange {
        case set(String, Int)
        case remove(String)
        case move(String, String)
    }

    /// The files by number. `nil` for a folder.
    private var files: [File?] = []
    /// The names on the disk: paths below the root, and the number of the file.
    private var durableNames: [String: Int] = [:]
    private var pendingNames: [NameChange] = []
    private var names: [String: Int] = [:]
    private var descriptors: [Int: (number: Int, position: Int)] = [:]
    private let root: String

    /// A disk with these files. In the system calls, their paths are below `root`.
    init(_ image: FolderImage, root: String) {
        self.root = root
        for (path, entry) in image.entries {
            names[path] = files.count
            switch entry {
            case .folder: files.append(nil)
            case .file(let content): files.append(File(durable: [UInt8](content)))
            }
        }
        names[""] = files.count
        files.append(nil)
        durableNames = names
    }

    // MARK: Applying system calls

    /// Applies a system call to the model.
    ///
    /// - Returns: Whether the call may have changed the disk's content or made changes durable.
    mutating func carryOut(_ call: TracedCall) -> Bool {
        let arguments = call.parts
        guard let result = call.result else { return false }
        let descriptor = arguments.first.flatMap { Int($0) } ?? -1
        if call.name == "fsync" || call.name == "fdatasync" {
            return synchronize(descriptor, succeeded: result == 0)
        }
        guard result >= 0 else { return false }
        switch call.name {
        case "openat": return open(arguments, as: result)
        case "close": descriptors[descriptor] = nil
        case "fcntl" where arguments.dropFirst().first?.hasPrefix("F_DUPFD") == true:
            descriptors[result] = descriptors[descriptor]
        case "pwrite64":
            return write(arguments, result, at: arguments.last.flatMap { Int($0) } ?? 0)
        case "write":
            guard let place = descriptors[descriptor]?.position else { return false }
            descriptors[descriptor]?.position += result
            return write(arguments, result, at: place)
        case "ftruncate":
            guard let number = descriptors[descriptor]?.number, let size = Int(arguments[1]) else {
                return false
            }
            files[number]?.pending.append(Pending(change: .truncate(size)))
            return true
        case "rename": return rename(arguments[0], arguments[1])
        case "renameat", "renameat2": return rename(arguments[1], arguments[3])
        case "unlink", "rmdir": return remove(arguments[0])
        case "unlinkat": return remove(arguments[1])
        case "mkdir": return make(arguments[0], folder: true) != nil
        case "mkdirat": return make(arguments[1], folder: true) != nil
        default: break
        }
        return false
    }

    /// The path below the root that an argument names, or `nil` if the argument names a file
    /// outside the root.
    private func path(_ argument: Substring) -> String? {
        let text = String(decoding: argument.unescaped, as: UTF8.self)
        guard text == root || text.hasPrefix(root + "/") else { return nil }
        return text.dropFirst(root.count + 1).split(separator: "/").joined(separator: "/")
    }

    private mutating func open(_ arguments: [Substring], as descriptor: Int) -> Bool {
        descriptors[descriptor] = nil
        guard let path = path(arguments[1]) else { return false }
        let isNew = names[path] == nil
        guard let number = names[path] ?? make(arguments[1], folder: false) else { return false }
        descriptors[descriptor] = (number, 0)
        if !isNew, arguments[2].contains("O_TRUNC") {
            files[number]?.pending.append(Pending(change: .truncate(0)))
            return true
        }
        return isNew
    }

    private mutating func make(_ argument: Substring, folder isFolder: Bool) -> Int? {
        guard let path = path(argument), names[path] == nil else { return nil }
        names[path] = files.count
        pendingNames.append(.set(path, files.count))
        files.append(isFolder ? nil : File())
        return files.count - 1
    }

    private mutating func write(_ arguments: [Substring], _ count: Int, at place: Int) -> Bool {
        guard let number = descriptors[Int(arguments[0]) ?? -1]?.number else { return false }
        let bytes = Array(arguments[1].unescaped.prefix(count))
        files[number]?.pending.append(Pending(change: .write(place, bytes)))
        return true
    }

    private mutating func rename(_ old: Substring, _ new: Substring) -> Bool {
        guard let old = path(old), let new = path(new) else { return false }
        Self.move(old, new, in: &names)
        pendingNames.append(.move(old, new))
        return true
    }

    private mutating func remove(_ argument: Substring) -> Bool {
        guard let path = path(argument) else { return false }
        names[path] = nil
        pendingNames.append(.remove(path))
        return true
    }

    /// Renaming a folder also moves its content.
    private static func move(_ old: String, _ new: String, in names: inout [String: Int]) {
        for (path, number) in names where path == old || path.hasPrefix(old + "/") {
            names[path] = nil
            names[new + path.dropFirst(old.count)] = number
        }
    }

    private static func apply(_ change: NameChange, to names: inout [String: Int]) {
        switch change {
        case .set(let path, let number): names[path] = number
        case .remove(let path): names[path] = nil
        case .move(let old, let new): move(old, new, in: &names)
        }
    }

    private mutating func synchronize(_ descriptor: Int, succeeded: Bool) -> Bool {
        guard let number = descriptors[descriptor]?.number else { return false }
        guard var file = files[number] else {
            guard succeeded else { return true }
            // A change of a name reaches the disk together with all earlier changes of names.
            let folder = names.first { $0.value == number }?.key ?? ""
            if let last = pendingNames.lastIndex(where: { Self.concerns(folder, $0) }) {
                for change in pendingNames[...last] { Self.apply(change, to: &durableNames) }
                pendingNames.removeFirst(last + 1)
            }
            return true
        }
        if succeeded {
            for index in file.pending.indices where !file.pending[index].isForgotten {
                file.pending[index].isDurable = true
            }
            let settled = file.pending.prefix { $0.isDurable }
            for pending in settled { Self.apply(pending.change, to: &file.durable, sectors: nil) }
            file.pending.removeFirst(settled.count)
        } else {
            for index in file.pending.indices where !file.pending[index].isDurable {
                file.pending[index].isForgotten = true
            }
        }
        files[number] = file
        return true
    }

    private static func concerns(_ folder: String, _ change: NameChange) -> Bool {
        let paths =
            switch change {
            case .set(let path, _), .remove(let path): [path]
            case .move(let old, let new): [old, new]
            }
        return paths.contains {
            $0.split(separator: "/").dropLast().joined(separator: "/") == folder
        }
    }

    private static let sectorByteCount = 512

    /// `sectors` says which sectors of a write reach the disk. `nil` for all.
    private static func apply(
        _ change: Change, to content: inout [UInt8], sectors: ((Int) -> Bool)?
    ) {
        switch change {
        case .truncate(let size):
            content =
                size <= content.count
                ? Array(content[..<size])
                : content + [UInt8](repeating: 0, count: size - content.count)
        case .write(let place, let bytes):
            if content.count < place + bytes.count {
                content += [UInt8](repeating: 0, count: place + bytes.count - content.count)
            }
            for (index, byte) in bytes.enumerated()
            where sectors.map({ $0((place + index) / sectorByteCount) }) ?? true {
                content[place + index] = byte
            }
        }
    }

    // MARK: Power failures

    /// What happens to changes that aren't durable.
    enum Fate: String, CaseIterable {
        /// No change reached the disk.
        case lost = "nothing unsynchronized"
        /// Every change reached the disk, except the writes that a failed fsync covered.
        case kept = "everything unsynchronized"
        case namesOnly = "names only"
        case dataOnly = "data only"
        /// Some writes, some sectors of writes and some changes of names reached the disk.
        case sampled
    }

    var isDurable: Bool {
        pendingNames.isEmpty && files.allSatisfy { $0?.pending.allSatisfy(\.isDurable) ?? true }
    }

    /// The files that exist after the power failure.
    func image(after fate: Fate, _ random: inout SeededGenerator) -> FolderImage {
        var found = durableNames
        let nameCount =
            switch fate {
            case .lost, .dataOnly: 0
            case .kept, .namesOnly: pendingNames.count
            case .sampled: Int.random(in: 0...pendingNames.count, using: &random)
            }
        for change in pendingNames.prefix(nameCount) { Self.apply(change, to: &found) }
        var image = FolderImage()
        for (path, number) in found.sorted(by: { $0.key < $1.key }) where !path.isEmpty {
            // If the name of a folder was lost, so is its content.
            let parent = path.split(separator: "/").dropLast().joined(separator: "/")
            guard found[parent] != nil else { continue }
            guard let file = files[number] else {
                image.entries[path] = .folder
                continue
            }
            var content = file.durable
            for pending in file.pending {
                if pending.isDurable {
                    Self.apply(pending.change, to: &content, sectors: nil)
                    continue
                }
                switch fate {
                case .lost, .namesOnly: continue
                case .kept, .dataOnly:
                    if !pending.isForgotten {
                        Self.apply(pending.change, to: &content, sectors: nil)
                    }
                case .sampled:
                    let choice = Int.random(in: 0...3, using: &random)
                    guard choice > 0 else { continue }
                    let mask = choice == 1 ? UInt64.random(in: 0...(.max), using: &random) : .max
                    Self.apply(
                        pending.change, to: &content,
                        sectors: { mask >> UInt64($0 % 64) & 1 == 1 })
                }
            }
            image.entries[path] = .file(Data(content))
        }
        return image
    }
}

extension TracedCall {
    /// The arguments, each in the form that `strace` writes.
    fileprivate var parts: [Substring] {
        // With -xx no string contains a comma or a quotation mark.
        arguments.split(separator: ", ").map { $0.drop { $0 == " " } }
    }
}

extension Substring {
    /// The bytes of a string in the form "\x61\x62".
    var unescaped: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count / 4)
        var digits: UInt8?
        var isEscape = false
        for unit in utf8 {
            if unit == UInt8(ascii: "x") {
                isEscape = true
                digits = nil
            } else if isEscape, let value = Character(UnicodeScalar(unit)).hexDigitValue {
                if let high = digits {
                    bytes.append(high << 4 | UInt8(value))
                    isEscape = false
                } else {
                    digits = UInt8(value)
                }
            }
        }
        return bytes
    }
}
