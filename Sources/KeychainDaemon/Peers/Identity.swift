// Identity: what a service knows a caller by.
//   (1) It is read from the kernel, of a process that is pinned, and never from the caller.
//   (2) What counts follows from the service. In a user's all callers are one user, and what they run
//       keeps them apart as far as they mean no harm. In the machine's the user id is the wall, and
//       what a process runs is not even looked at: that would take a right to its memory.

import Glibc
import KeychainCrypto

/// How a service finds out who connects.
enum Identification: Hashable, Sendable {
    /// By the executable, or the sandbox: in a user's service.
    case program
    /// By the user id, or the unit: in that of the machine.
    case account
    /// By the socket: whoever has it is meant.
    case socket(String)
}

enum Identity: Sendable {
    case program(Executable)
    /// `flatpak:ID` or `snap:NAME`.
    case sandbox(String)
    /// The name that the process bears, which means nothing, and its unit, if it is in one.
    case account(command: String, unit: String?)
    case socket(String)

    /// What a process is known by now.
    init(of process: PinnedProcess, by identification: Identification) throws(PeerRefusal) {
        switch identification {
        case .socket(let name): self = .socket(name)
        case .account:
            self = try process.reading { pid throws(PeerRefusal) in
                .account(
                    command: ProcessFiles.command(of: pid) ?? "",
                    unit: ProcessFiles.cgroup(of: pid).flatMap { SystemUnit.name(inPath: $0) })
            }
        case .program:
            let sandbox = try process.reading { pid throws(PeerRefusal) in
                Sandbox.id(of: pid, cgroup: ProcessFiles.cgroup(of: pid))
            }
            if let sandbox {
                self = .sandbox(sandbox)
            } else {
                self = .program(try process.executable())
            }
        }
    }

    /// What the log and refusals call it: the name of a field, and the text.
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

/// What everybody may read of a process.
enum ProcessFiles {
    /// The name that a process bears, 15 bytes at the most.
    static func command(of pid: pid_t) -> String? {
        text("/proc/\(pid)/comm").map { String($0.prefix { $0 != "\n" }) }
    }

    /// Its cgroup in the hierarchy of version 2.
    static func cgroup(of pid: pid_t) -> String? {
        text("/proc/\(pid)/cgroup").flatMap { SystemUnit.path(in: $0) }
    }

    /// The real, effective, saved and file user ids.
    static func users(of pid: pid_t) -> Set<uid_t> {
        let line = text("/proc/\(pid)/status")?.split(separator: "\n").first {
            $0.hasPrefix("Uid:")
        }
        return Set(line?.split(whereSeparator: \.isWhitespace).compactMap { uid_t($0) } ?? [])
    }

    private static func text(_ path: String) -> String? {
        Files.open(path, O_RDONLY).flatMap { Files.content(of: $0, atMost: 1 << 16) }
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
