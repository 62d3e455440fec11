// Dialogue: a program on a pseudoterminal, with the test in place of the user.

import Foundation
import Glibc
import Testing

final class Dialogue {
    let process: pid_t
    private let terminal: Int32
    /// The first bytes of a character or line end whose other bytes have not arrived yet.
    private var incomplete: [UInt8] = []
    /// The output of the terminal that no expectation has consumed yet.
    private var pending = ""
    /// The whole output of the terminal, with plain newlines.
    private(set) var shown = ""
    private var isOver = false

    /// The longest wait for output of the program, in milliseconds.
    private static let patience: Int32 = 60_000

    /// Starts keychainctl in a new session, with the three standard streams on a new terminal.
    convenience init(
        _ home: TestHome, _ arguments: String..., variables: [String: String] = [:]
    ) throws {
        try self.init(
            home, program: ChildProcess.programs + "/keychainctl", arguments, variables: variables)
    }

    /// Starts any program in the same way.
    init(
        _ home: TestHome, program: String, _ arguments: [String],
        variables: [String: String] = [:]
    ) throws {
        // SAFETY: the path is a terminated copy, and each `ioctl` uses one integer within the call.
        terminal = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: CInt = 0
        var number: CInt = 0
        try #require(
            unsafe terminal >= 0 && ioctl(terminal, Self.setLock, &isLocked) == 0
                && ioctl(terminal, Self.number, &number) == 0)
        process = try ChildProcess.spawn(
            [program] + arguments,
            environment: home.environment.merging(variables) { $1 },
            opening: (0...2).map {
                .init(descriptor: $0, path: "/dev/pts/\(number)", flags: O_RDWR)
            })
    }

    // The values from asm-generic/ioctls.h: TIOCSPTLCK and TIOCGPTN.
    private static let setLock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    deinit {
        if !isOver {
            kill(process, SIGKILL)
            _ = try? ChildProcess.wait(for: process)
        }
        close(terminal)
    }

    /// Waits until the terminal shows a text.
    func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        while true {
            if let range = pending.range(of: text) {
                pending = String(pending[range.upperBound...])
                return
            }
            let isOpen = readMore()
            try #require(
                isOpen, "“\(text)” was not shown: \(shown)", sourceLocation: sourceLocation)
        }
    }

    /// Types text at the terminal.
    func type(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            // SAFETY: the bytes are read within the call.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe write(terminal, $0.baseAddress, $0.count)
            }
            try #require(count > 0)
            bytes = bytes.dropFirst(count)
        }
    }

    /// Waits until the program ends.
    func end() throws -> Ending {
        while readMore() {}
        let ending = try ChildProcess.wait(for: process)
        isOver = true
        return ending
    }

    /// Whether the terminal echoes input.
    var isEchoing: Bool {
        var modes = termios()
        // SAFETY: `modes` is written only within the call.
        guard unsafe tcgetattr(terminal, &modes) == 0 else { return false }
        return modes.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits for output of the program and adds it to the output shown so far.
    /// - Returns: `false` if the program has closed the terminal, or was killed because it was
    ///   silent for too long.
    private func readMore() -> Bool {
        var waiting = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        // SAFETY: `poll` gets one entry, and uses it only within the call.
        guard unsafe poll(&waiting, 1, Self.patience) == 1 else {
            Issue.record("The program is silent. It has shown: \(shown)")
            kill(process, SIGKILL)
            return false
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        // SAFETY: `read` writes only within the array's bounds.
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe read(terminal, $0.baseAddress, $0.count)
        }
        // EIO means that no process has the terminal open any more.
        guard count > 0 else {
            show(incomplete[...])
            incomplete = []
            return false
        }
        bytes = incomplete + bytes[..<count]
        incomplete = Array(bytes.suffix(Self.incompleteCount(bytes)))
        show(bytes.dropLast(incomplete.count))
        return true
    }

    private func show(_ bytes: ArraySlice<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self)
            .replacingOccurrences(of: "\r\n", with: "\n")
        pending += text
        shown += text
    }

    /// The number of bytes at the end of `bytes` that may be the beginning of a character in UTF-8,
    /// or of a line end (CR LF).
    private static func incompleteCount(_ bytes: [UInt8]) -> Int {
        if bytes.last == 0x0D { return 1 }
        // The first byte of a character determines the number of its bytes, at most four.
        let tail = bytes.suffix(3)
        guard let first = tail.lastIndex(where: { $0 & 0xC0 != 0x80 }) else { return 0 }
        let wholeCount =
            switch tail[first] {
            case 0xC0..<0xE0: 2
            case 0xE0..<0xF0: 3
            case 0xF0...: 4
            default: 1
            }
        let count = tail.endIndex - first
        return count < wholeCount ? count : 0
    }
}
