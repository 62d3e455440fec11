// Strace: runs the fault-writer under `strace`, which interrupts it at a system call or records its
// system calls.
//   (1) An injected signal is delivered before the call is carried out. An injected error is
//       returned, and the call isn't carried out.
//   (2) Where processes can't be traced, a sweep fails with an error.

import Foundation
import TestPrograms

/// The interruption of the process at a system call.
package enum Interruption: Hashable, Sendable, CustomStringConvertible {
    case kill
    case error(String)

    package var description: String {
        switch self {
        case .kill: "signal=KILL"
        case .error(let name): "error=\(name)"
        }
    }
}

/// A system call, identified by its name and by its position among the calls with that name in its
/// thread. Positions start at 1.
package struct CallSite: Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let number: Int

    package var description: String { "\(name)-\(number)" }
}

package struct Strace: Sendable {
    /// System calls that change a file or folder, or write an acknowledgement. Between two of these
    /// calls, the files don't change. So killing a process at any other call has the same effect as
    /// killing it at the next of these calls.
    package static let changingCalls = [
        "openat", "open", "creat", "write", "pwrite64", "writev", "pwritev", "pwritev2",
        "ftruncate", "truncate", "fallocate", "fsync", "fdatasync", "sync_file_range", "rename",
        "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "link",
        "linkat", "symlink", "symlinkat", "copy_file_range",
    ]

    /// System calls that can fail because of an error of the disk.
    package static let failingCalls = changingCalls + ["pread64", "read", "getdents64"]

    let writer: String
    private let program: String
    /// A folder for the output of `strace`.
    private let scratch: String

    /// - Throws: ``SweepImpossible`` if the fault-writer isn't built, or if `strace` is missing or
    ///   isn't allowed to trace.
    package init(scratch: String) throws {
        self.scratch = scratch
        guard let writer = TestProgram.path(of: "fault-writer") else {
            throw SweepImpossible(description: "fault-writer is not built.")
        }
        self.writer = writer
        let program = ["/usr/bin/strace", "/usr/local/bin/strace", "/bin/strace"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard let program else {
            throw SweepImpossible(
                description: "strace is missing. It is in the package of that name.")
        }
        self.program = program
        let check = try TestProgram(
            path: program, ["-qq", "-o", "/dev/null", "-e", "trace=exit_group", "/bin/echo", "on"],
            environment: [:])
        guard check.lines() == ["on"], check.endedWell else {
            throw SweepImpossible(
                description: "strace can't trace a process here, so nothing can be swept. In a "
                    + "container, allow ptrace: docker run --cap-add SYS_PTRACE.")
        }
    }

    /// The result of a run under `strace`.
    package struct Run {
        /// The output of the fault-writer.
        package let lines: [String]
        /// The recorded system calls. Empty for a run with an interruption, unless the data that
        /// the calls write was recorded too.
        package let calls: [TracedCall]

        /// The number of acknowledged steps.
        package var doneCount: Int { lines.count { $0.hasPrefix("done ") } }
        package var failures: [Substring] {
            lines.filter { $0.hasPrefix("failed ") }.map { $0.dropFirst(7) }
        }
        package let endedWell: Bool
    }

    /// Runs steps in the fault-writer.
    ///
    /// - Parameters:
    ///   - steps: The steps.
    ///   - directory: The keychain's folder.
    ///   - attempts: The number of attempts for each step.
    ///   - calls: The names of the system calls to record. If empty, the calls with the name in
    ///     `site` are recorded or, without a site, all calls.
    ///   - withData: Whether to record all bytes that the calls write.
    ///   - interruption: The interruption of the process at `site`.
    ///   - site: A system call.
    /// - Returns: The output and the system calls.
    /// - Throws: An error if `strace` can't be started.
    package func run(
        _ steps: [Step], in directory: String, attempts: Int = 1, tracing calls: [String],
        withData: Bool = false, _ interruption: Interruption? = nil, at site: CallSite? = nil
    ) throws -> Run {
        let log = scratch + "/trace-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: log) }
        var options = ["-f", "-qq", "-o", log, "-e", "signal=none"]
        if let interruption, let site {
            options += ["-e", "inject=\(site.name):\(interruption):when=\(site.number)"]
        }
        let traced = calls.isEmpty ? site.map { [$0.name] } ?? ["all"] : calls
        options += ["-e", "trace=" + traced.joined(separator: ",")]
        if withData { options += ["-xx", "-s", "1048576"] }
        let child = try TestProgram(
            path: program,
            options + [writer, "carry-out", directory, "\(attempts)"] + steps.map(\.description),
            environment: ["SWIFT_BACKTRACE": "enable=no"])
        let lines = child.lines()
        let endedWell = child.endedWell
        let text =
            interruption == nil || withData
            ? String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
            : ""
        return Run(lines: lines, calls: TracedCall.calls(in: text), endedWell: endedWell)
    }
}

/// A system call that `strace` recorded.
package struct TracedCall: Sendable {
    package let thread: Substring
    package let name: Substring
    /// The arguments between the parentheses.
    package let arguments: Substring
    package let result: Int?
    /// Whether strace made the call fail instead of carrying it out.
    package let isInjected: Bool

    static func calls(in text: String) -> [TracedCall] {
        var begun: [Substring: Substring] = [:]
        return text.split(separator: "\n").compactMap { line -> TracedCall? in
            guard let space = line.firstIndex(of: " ") else { return nil }
            let thread = line[..<space]
            var rest = line[space...].drop { $0 == " " }
            if rest.hasSuffix("<unfinished ...>") {
                begun[thread] = rest.dropLast(16)
                return nil
            }
            if rest.hasPrefix("<... "), let end = rest.firstRange(of: " resumed>") {
                rest = (begun.removeValue(forKey: thread) ?? "") + rest[end.upperBound...]
            }
            guard let bracket = rest.firstIndex(of: "("), !rest.hasPrefix("+++"),
                let equals = rest.ranges(of: " = ").last
            else { return nil }
            let arguments = rest[rest.index(after: bracket)..<equals.lowerBound]
            let result = rest[equals.upperBound...]
            return TracedCall(
                thread: thread, name: rest[..<bracket],
                arguments: arguments[..<(arguments.lastIndex(of: ")") ?? arguments.endIndex)],
                result: Int(result.prefix { $0 == "-" || $0.isNumber }),
                isInjected: result.hasSuffix("(INJECTED)"))
        }
    }

    private var mayChange: Bool { name != "openat" || arguments.contains("O_CREAT") }

    /// The sites of the first call whose arguments contain `path` (apart from `execve`) and of all
    /// later calls. If `path` is empty, the sites of all calls. A site that occurs in several
    /// threads is returned once. If `changingOnly` is true, calls that open a file without creating
    /// it are left out.
    package static func sites(
        _ calls: [TracedCall], since path: String, changingOnly: Bool = false
    ) -> [CallSite] {
        var counts: [Substring: [Substring: Int]] = [:]
        var hasBegun = false
        var seen: Set<CallSite> = []
        return calls.compactMap { call -> CallSite? in
            counts[call.thread, default: [:]][call.name, default: 0] += 1
            hasBegun =
                hasBegun || path.isEmpty || (call.name != "execve" && call.arguments.contains(path))
            let site = CallSite(
                name: String(call.name),
                number: counts[call.thread, default: [:]][call.name, default: 0])
            // Opening a file without creating it changes nothing on the disk.
            guard hasBegun, changingOnly ? call.mayChange : true else { return nil }
            return seen.insert(site).inserted ? site : nil
        }
    }
}
