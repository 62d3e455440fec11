// ProgramRegistry: the folder that says which programs have which entitlements.
//   (1) A change of the folder or of a file in it counts from the next connection on.
//   (2) Nothing in the registry widens what a program gets by being wrong: while a file is not
//       believed or not understood, a program that no other file names gets nothing, since the
//       wrong file may have been about it.
//   (3) What was read is kept under the identity of its file, which changes with the file.

import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainEngine
import KeychainCore
import Synchronization

final class ProgramRegistry: Sendable {
    /// What the registry says of a program.
    enum Answer: Hashable, Sendable {
        /// Nothing.
        case unnamed
        case entitled(Entitlements)
        /// It gets nothing; the text says why.
        case refused(String)
    }

    /// The folder, an absolute path.
    let folder: String

    private let state = Mutex(State())

    init(folder: String) {
        self.folder = folder
    }

    /// What the program is entitled to. It may read files, and take as long as that takes.
    func answer(about program: Executable) -> Answer {
        state.withLock { state in
            state.refresh(folder)
            let named = state.entries.filter { $0.executable == program.path }
            let fitting: [RegistryEntry]
            if named.contains(where: { $0.sha256 != nil }) {
                guard let digest = state.digest(of: program) else {
                    return .refused("its SHA-256 can't be told: the executable can't be read")
                }
                fitting = named.filter { $0.sha256 == nil || $0.sha256 == digest }
            } else {
                fitting = named
            }
            guard fitting.count <= 1 else {
                let files = fitting.map { quoted($0.file) }.sorted().joined(separator: " and ")
                return .refused("\(files) are both about it")
            }
            guard let entry = fitting.first else {
                if let named = named.first {
                    return .refused(
                        "it isn't the file whose SHA-256 stands in \(quoted(named.file))")
                }
                return state.problem.map { .refused($0) } ?? .unnamed
            }
            do throws(DistrustedFile) {
                return .entitled(try state.entitlements(entry.entitlements))
            } catch {
                return .refused(error.reason)
            }
        }
    }

    /// What is wrong with the registry now, each a text for people.
    func problems() -> [String] {
        state.withLock { state in
            state.refresh(folder)
            return state.problems
        }
    }

    /// The entitlements in a file that stands beside a program.
    func entitlements(at path: String) throws(DistrustedFile) -> Entitlements {
        try state.withLock { state throws(DistrustedFile) in
            try state.plainEntitlements(path)
        }
    }
}

/// What was read.
private struct State {
    /// What tells one state of the folder from another: itself, and each of its files.
    private var signature: [String: FileIdentity]?
    private(set) var entries: [RegistryEntry] = []
    private(set) var problems: [String] = []

    private var lists: [FileIdentity: Entitlements] = [:]
    private var digests: [FileIdentity: [UInt8]] = [:]
    /// How many of each are kept at the most.
    private static let keptCount = 512

    var problem: String? {
        problems.first.map { "the registry can't be trusted: \($0)" }
    }

    // MARK: The folder

    mutating func refresh(_ folder: String) {
        guard let status = Files.status(of: folder) else {
            let isAbsent = errno == ENOENT
            self = State()
            if !isAbsent { problems = ["\(quoted(folder)) can't be seen"] }
            return
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let paths = names.filter { $0.hasSuffix(".json") }.sorted().map { folder + "/" + $0 }
        var present = ["": status.identity]
        for path in paths { present[path] = Files.status(ofLink: path)?.identity }
        guard present != signature else { return }
        entries = []
        problems = []
        do throws(DistrustedFile) {
            guard status.isFolder else {
                throw DistrustedFile(reason: "\(quoted(folder)) is no folder")
            }
            try TrustedFile.check(folder, status)
        } catch {
            problems = [error.reason]
            signature = present
            return
        }
        for path in paths { read(path) }
        signature = present
    }

    private mutating func read(_ path: String) {
        do throws(DistrustedFile) {
            let file = try TrustedFile(path, atMost: RegistryEntry.byteLimit)
            entries.append(try RegistryEntry(file.content, file: path))
        } catch {
            problems.append(error.reason)
        }
    }

    // MARK: What it names

    mutating func digest(of program: Executable) -> [UInt8]? {
        if let digest = digests[program.file] { return digest }
        guard let digest = program.digest() else { return nil }
        if digests.count >= Self.keptCount { digests = [:] }
        digests[program.file] = digest
        return digest
    }

    /// A list that the registry names: a program that could write it could give itself any right.
    mutating func entitlements(_ path: String) throws(DistrustedFile) -> Entitlements {
        guard let status = Files.status(ofLink: path) else {
            throw DistrustedFile(reason: "the entitlements \(quoted(path)) are not there")
        }
        // Also of what was read before: it may have been a list beside a program.
        try TrustedFile.check(path, status)
        if let list = lists[status.identity] { return list }
        let file = try TrustedFile(path, atMost: Entitlements.byteLimit)
        return try keep(file.content, path, file.identity)
    }

    /// A list that stands beside a program, which the user who installed the program may have
    /// written.
    mutating func plainEntitlements(_ path: String) throws(DistrustedFile) -> Entitlements {
        guard let descriptor = Files.open(path, O_RDONLY | O_NONBLOCK),
            let status = Files.status(of: descriptor), status.isPlainFile
        else { throw DistrustedFile(reason: "the entitlements \(quoted(path)) can't be read") }
        if let list = lists[status.identity] { return list }
        guard let content = Files.content(of: descriptor, atMost: Entitlements.byteLimit) else {
            throw DistrustedFile(reason: "the entitlements \(quoted(path)) can't be read")
        }
        return try keep(content, path, status.identity)
    }

    private mutating func keep(
        _ content: Data, _ path: String, _ identity: FileIdentity
    ) throws(DistrustedFile) -> Entitlements {
        do throws(KeychainFailure) {
            let list = try Entitlements(propertyList: content, name: quoted(path))
            if lists.count >= Self.keptCount { lists = [:] }
            lists[identity] = list
            return list
        } catch {
            throw DistrustedFile(reason: error.reason)
        }
    }
}

// MARK: - Entries

/// `{"executable": path, "sha256": 64 hexadecimal digits, "entitlements": path}`; the second may be
/// left out, and there is nothing else.
struct RegistryEntry: Hashable, Sendable {
    static let byteLimit = 1 << 16

    /// The file that the entry stands in.
    let file: String
    /// An absolute path, without symbolic links.
    let executable: String
    /// 32 bytes. nil: whatever stands at the path is meant.
    let sha256: [UInt8]?
    /// An absolute path.
    let entitlements: String

    /// - Parameters:
    ///   - content: What the file holds.
    ///   - file: Its path. A path of entitlements that isn't absolute begins at its folder.
    /// - Throws: ``DistrustedFile`` for anything but such an object.
    init(_ content: Data, file: String) throws(DistrustedFile) {
        func failure(_ what: String) -> DistrustedFile {
            DistrustedFile(reason: "\(quoted(file)) \(what)")
        }
        guard let texts = try? JSONDecoder().decode([String: String].self, from: content) else {
            throw failure("is no JSON object of texts")
        }
        if let unknown = texts.keys.filter({ !Self.keys.contains($0) }).min() {
            throw failure("has an unknown key, \(quoted(unknown))")
        }
        guard let executable = texts["executable"], Self.isPlain(executable) else {
            throw failure("names no executable by its absolute path")
        }
        guard let entitlements = texts["entitlements"], !entitlements.isEmpty,
            !entitlements.utf8.contains(0)
        else { throw failure("names no entitlements") }
        if let digits = texts["sha256"] {
            guard let digest = Self.bytes(digits), digest.count == 32 else {
                throw failure("has a SHA-256 that isn't 64 hexadecimal digits")
            }
            sha256 = digest
        } else {
            sha256 = nil
        }
        self.file = file
        self.executable = executable
        let folder = file.lastIndex(of: "/").map { file[...$0] } ?? ""
        self.entitlements = entitlements.hasPrefix("/") ? entitlements : folder + entitlements
    }

    private static let keys: Set<String> = ["executable", "sha256", "entitlements"]

    /// Whether a path is absolute and as the kernel writes it.
    private static func isPlain(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return path.hasPrefix("/") && !path.utf8.contains(0)
            && parts.dropFirst().allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }

    private static func bytes(_ digits: String) -> [UInt8]? {
        let values = digits.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard values.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[index], let low = values[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
