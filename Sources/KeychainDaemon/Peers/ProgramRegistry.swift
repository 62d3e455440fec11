// ProgramRegistry: reads the folder that defines the entitlements of programs.
//   (1) A change to the folder or to a file in it applies from the next connection on. Open
//       connections whose rights have changed are closed, see `KeychainServer`.
//   (2) An error in the registry never widens a program's access. While a file can't be trusted or
//       decoded, a program that no other file names gets no access, since the faulty file may be
//       about it. While the folder can't be listed, or a file in it can't be read for lack of
//       descriptors or memory, the entries that were read last apply, and a program that they
//       don't name gets no access.
//   (3) The content of a file is cached under the file's identity, which changes with the content.

import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainRuntime
import Synchronization

final class ProgramRegistry: Sendable {
    /// What the registry says about a caller.
    enum Answer: Hashable, Sendable {
        /// No entry names it.
        case unnamed
        case entitled(Entitlements)
        /// It gets no access. The text says why.
        case refused(String)
    }

    /// The path of the folder, absolute.
    let folder: String

    private let kind: DaemonConfiguration.Kind
    private let state: Mutex<State>
    private let digests = Digests()

    /// `names` lists the folder, or returns `nil` if that fails.
    init(
        folder: String, kind: DaemonConfiguration.Kind = .user,
        names: @escaping @Sendable (String) -> [String]? = {
            try? FileManager.default.contentsOfDirectory(atPath: $0)
        }
    ) {
        self.folder = folder
        self.kind = kind
        state = Mutex(State(names: names))
    }

    /// What the program is entitled to. This may read files, and block for as long as that takes.
    func answer(about program: Executable) -> Answer {
        // The digest is computed outside the lock, so that other threads don't wait while a file is
        // read.
        let needsDigest = state.withLock { state in
            state.refresh(folder, kind)
            return state.named(program).contains { $0.sha256 != nil }
        }
        let digest = needsDigest ? digests.digest(of: program) : nil
        return state.withLock { state in
            let named = state.named(program)
            let fitting: [RegistryEntry]
            if named.contains(where: { $0.sha256 != nil }) {
                guard let digest else {
                    return .refused(
                        program.isTooLarge
                            ? "its SHA-256 isn't computed: the executable is larger than 1 GiB. "
                                + "Create the entry without a SHA-256, or give the program a "
                                + "dedicated socket"
                            : "its SHA-256 can't be computed: the executable can't be read")
                }
                fitting = named.filter { $0.sha256 == nil || $0.sha256 == digest }
            } else {
                fitting = named
            }
            if fitting.isEmpty, let named = named.first {
                return .refused(
                    "its SHA-256 isn't the one in \(quoted(named.file)). If the program was "
                        + "updated, renew the entry with `keychainctl program add`")
            }
            return state.answer(fitting)
        }
    }

    /// The answer about a caller that isn't identified by an executable.
    func answer(about subject: RegistryEntry.Subject) -> Answer {
        state.withLock { state in
            state.refresh(folder, kind)
            return state.answer(state.entries.filter { $0.subject == subject })
        }
    }

    /// Whether an entry names the subject. Faulty entries are reported by ``problems()``.
    func names(_ subject: RegistryEntry.Subject) -> Bool {
        state.withLock { state in
            state.refresh(folder, kind)
            return state.entries.contains { $0.subject == subject }
        }
    }

    /// The entries about dedicated sockets, by the names of the sockets.
    func sockets() -> [String: RegistryEntry] {
        state.withLock { state in
            state.refresh(folder, kind)
            var sockets: [String: RegistryEntry] = [:]
            for entry in state.entries {
                if case .socket(let name) = entry.subject { sockets[name] = entry }
            }
            return sockets
        }
    }

    /// A number that increases each time a check finds that the folder, a file in it or a list of
    /// entitlements has changed.
    func revision() -> Int {
        state.withLock { state in
            state.refresh(folder, kind)
            return state.revision
        }
    }

    /// The current errors in the registry, for the user.
    func problems() -> [String] {
        state.withLock { state in
            state.refresh(folder, kind)
            return state.problems
        }
    }

    /// The entitlements in a file that root owns and that is beside a program.
    func entitlements(at path: String) throws(DistrustedFile) -> Entitlements {
        try state.withLock { state throws(DistrustedFile) in
            try state.entitlements(path)
        }
    }
}

/// The contents of the registry as last read.
private struct State {
    let names: @Sendable (String) -> [String]?
    /// The identities of the folder, of each entry's file, and of each list of entitlements that an
    /// entry names, to detect changes.
    private var signature: [String: FileIdentity]?
    private(set) var entries: [RegistryEntry] = []
    private(set) var problems: [String] = []
    private(set) var revision = 0

    private var lists: [FileIdentity: Entitlements] = [:]
    /// The maximum number of cached lists.
    private static let keptCount = 512

    init(names: @escaping @Sendable (String) -> [String]?) { self.names = names }

    var problem: String? {
        problems.first.map { "the registry can't be trusted: \($0)" }
    }

    // MARK: The folder

    mutating func refresh(_ folder: String, _ kind: DaemonConfiguration.Kind) {
        guard let status = Files.status(of: folder) else {
            let isAbsent = errno == ENOENT
            let revision = revision + (signature == [:] ? 0 : 1)
            self = State(names: names)
            self.revision = revision
            signature = [:]
            if !isAbsent { problems = ["\(quoted(folder)) can't be read"] }
            return
        }
        guard let names = names(folder) ?? (status.isFolder ? nil : []) else {
            return keepLast("\(quoted(folder)) can't be listed")
        }
        let paths = names.filter { $0.hasSuffix(".json") }.sorted().map { folder + "/" + $0 }
        var own = ["": status.identity]
        for path in paths { own[path] = Files.status(ofLink: path)?.identity }
        guard addingLists(to: own) != signature else { return }
        let last = entries
        entries = []
        problems = []
        do throws(DistrustedFile) {
            guard status.isFolder else {
                throw DistrustedFile(reason: "\(quoted(folder)) isn't a folder")
            }
            try TrustedFile.check(folder, status)
        } catch {
            problems = [error.reason]
            signature = own
            revision += 1
            return
        }
        do throws(DistrustedFile) {
            for path in paths { try read(path, kind) }
        } catch {
            entries = last
            return keepLast(error.reason)
        }
        revision += 1
        signature = addingLists(to: own)
    }

    /// Adds the files with the entitlements that the entries name.
    private func addingLists(to files: [String: FileIdentity]) -> [String: FileIdentity] {
        var files = files
        for path in Set(entries.map(\.entitlements)) where files[path] == nil {
            files[path] = Files.status(ofLink: path)?.identity ?? Self.absent
        }
        return files
    }

    /// The identity recorded for a missing file.
    private static let absent = FileIdentity(
        device: 0, inode: 0, size: 0, modified: 0, changed: 0)

    /// Keeps the last entries, and reads the folder again at the next check. Until then, programs
    /// that these entries don't name get no access.
    private mutating func keepLast(_ problem: String) {
        signature = nil
        problems = [problem]
    }

    /// - Throws: The error of a file that may be readable later.
    private mutating func read(
        _ path: String, _ kind: DaemonConfiguration.Kind
    ) throws(DistrustedFile) {
        do throws(DistrustedFile) {
            let file = try TrustedFile(path, atMost: RegistryEntry.byteLimit)
            let entry = try RegistryEntry(file.content, file: path)
            if let fault = entry.fault(in: kind) {
                throw DistrustedFile(reason: "\(path) \(fault)")
            }
            entries.append(entry)
        } catch {
            guard !error.isTransient else { throw error }
            problems.append(error.reason)
        }
    }

    /// The combined answer of the entries about one subject.
    mutating func answer(_ fitting: [RegistryEntry]) -> ProgramRegistry.Answer {
        guard fitting.count <= 1 else {
            let files = fitting.map(\.file).sorted().joined(separator: ", ")
            return .refused("\(fitting.count) files are about the same program: \(files)")
        }
        guard let entry = fitting.first else {
            return problem.map { .refused($0) } ?? .unnamed
        }
        do throws(DistrustedFile) {
            return .entitled(try entitlements(entry.entitlements))
        } catch {
            return .refused(error.reason)
        }
    }

    // MARK: Subjects and lists

    func named(_ program: Executable) -> [RegistryEntry] {
        entries.filter { $0.subject == .executable(program.path) }
    }

    /// The entitlements in a list. The file has to be trusted: a program that can write it could
    /// give itself any right.
    mutating func entitlements(_ path: String) throws(DistrustedFile) -> Entitlements {
        guard let status = Files.status(ofLink: path) else {
            throw DistrustedFile(reason: "the entitlements \(quoted(path)) don't exist")
        }
        try TrustedFile.check(path, status)
        if let list = lists[status.identity] { return list }
        let file = try TrustedFile(path, atMost: Entitlements.byteLimit)
        return try keep(file.content, path, file.identity)
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

extension RegistryEntry {
    /// Why a service of the given kind doesn't use the entry. `nil` if it does.
    func fault(in kind: DaemonConfiguration.Kind) -> String? {
        let key = subject.texts.key
        switch (subject, kind) {
        case (.executable, .user), (.sandbox, .user), (.user, .system), (.unit, .system):
            return nil
        case (.executable, .system), (.sandbox, .system):
            return "names \(key == "executable" ? "an" : "a") \(key), but the machine's service "
                + "identifies its callers only by user, unit or socket"
        case (.user, .user), (.unit, .user):
            return "names a \(key), but a user's service identifies its callers only by "
                + "executable, sandbox or socket"
        case (.socket, .user):
            return user == nil
                ? nil
                : "names a user for a socket, but every socket of a user's service leads to that "
                    + "user's keychain"
        case (.socket, .system):
            return user == nil
                ? "names a socket without the user whose keychain it leads to" : nil
        }
    }
}

// MARK: - Digests

/// The digests of executables. They are computed without a lock, since reading a file may hang.
private final class Digests: Sendable {
    private let kept = Mutex<[FileIdentity: [UInt8]]>([:])
    private static let keptCount = 512

    func digest(of program: Executable) -> [UInt8]? {
        if let digest = kept.withLock({ $0[program.file] }) { return digest }
        guard let digest = program.digest() else { return nil }
        kept.withLock {
            if $0.count >= Self.keptCount { $0 = [:] }
            $0[program.file] = digest
        }
        return digest
    }
}
