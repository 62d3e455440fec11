// Identity: how a service identifies a caller.
//   (1) The identity is never taken from the caller's messages. For a dedicated socket, it is the
//       socket's name. Otherwise it is read from /proc and accepted only if a process file
//       descriptor (pidfd) shows that the caller's process still runs. It is therefore never the
//       identity of a later process with the same id.
//   (2) The kind of identity depends on the service. A user's service serves a single user, and
//       separates well-behaved programs by executable or sandbox. For the machine's service, the
//       user id is the boundary. That service doesn't examine which executable a process runs,
//       since this would require access to the process's memory.

import Glibc
import KeychainCrypto

/// How a service identifies its callers.
enum Identification: Hashable, Sendable {
    /// By the executable or the sandbox, in a user's service.
    case program
    /// By the user id or the unit, in the machine's service.
    case account
    /// By the dedicated socket over which they connect.
    case socket(String)
}

enum Identity: Sendable {
    case program(Executable)
    /// `flatpak:ID` or `snap:NAME`.
    case sandbox(String)
    /// The name of the process, which proves nothing, and its unit if it belongs to one.
    case account(command: String, unit: String?)
    case socket(String)

    /// The current identity of a process.
    init(of process: PinnedProcess, by identification: Identification) throws(PeerRefusal) {
        switch identification {
        case .socket(let name): self = .socket(name)
        case .account:
            self = try process.reading { pid throws(PeerRefusal) in
                .account(
                    command: ProcessFiles.command(of: pid) ?? "",
                    unit: try Self.cgroup(of: pid).flatMap { SystemUnit.name(inPath: $0) })
            }
        case .program:
            let sandbox = try process.reading { pid throws(PeerRefusal) in
                Sandbox.id(of: pid, cgroup: try Self.cgroup(of: pid))
            }
            if let sandbox {
                self = .sandbox(sandbox)
            } else {
                self = .program(try process.executable())
            }
        }
    }

    private static func cgroup(of pid: pid_t) throws(PeerRefusal) -> String? {
        do throws(ProcessFiles.Unreadable) {
            return try ProcessFiles.cgroup(of: pid)
        } catch {
            throw .unavailable(pid: pid, reason: error.reason)
        }
    }

    /// How logs and refusals name the identity: the name of a field, and its text.
    var texts: (key: String, text: String) {
        switch self {
        case .program(let executable): ("executable", executable.path)
        case .sandbox(let id): ("sandbox", id)
        case .account(let command, nil): ("command", command)
        case .account(_, let unit?): ("unit", unit)
        case .socket(let name): ("socket", name)
        }
    }

    func isSame(as other: Identity) -> Bool {
        switch (self, other) {
        case (.program(let own), .program(let other)): own.isSame(as: other)
        case (.account(_, let own), .account(_, let other)): own == other
        case (.sandbox(let own), .sandbox(let other)), (.socket(let own), .socket(let other)):
            own == other
        default: false
        }
    }
}

/// Files in /proc that every user may read.
enum ProcessFiles {
    /// A file can't be read though its process runs, for example because the service has no
    /// descriptor left.
    struct Unreadable: Error {
        let reason: String
    }

    /// The name of the process, at most 15 bytes.
    static func command(of pid: pid_t) -> String? {
        let text = try? text("/proc/\(pid)/comm")
        return text.map { String($0.prefix { $0 != "\n" }) }
    }

    /// The cgroup of the process in the version 2 hierarchy. `nil` if it is in none or has ended.
    static func cgroup(of pid: pid_t) throws(Unreadable) -> String? {
        try text("/proc/\(pid)/cgroup").flatMap { SystemUnit.path(in: $0) }
    }

    /// The real, effective, saved and file system user ids. Empty if the process has ended.
    static func users(of pid: pid_t) throws(Unreadable) -> Set<uid_t> {
        let line = try text("/proc/\(pid)/status")?.split(separator: "\n").first {
            $0.hasPrefix("Uid:")
        }
        return Set(line?.split(whereSeparator: \.isWhitespace).compactMap { uid_t($0) } ?? [])
    }

    /// - Returns: `nil` if the process has ended.
    private static func text(_ path: String) throws(Unreadable) -> String? {
        errno = 0
        let content = Files.open(path, O_RDONLY).flatMap { Files.content(of: $0, atMost: 1 << 16) }
        if let content { return String(decoding: content, as: UTF8.self) }
        if [ENOENT, ESRCH].contains(errno) { return nil }
        throw Unreadable(reason: "\(path) can't be read: \(errorText(errno))")
    }
}
