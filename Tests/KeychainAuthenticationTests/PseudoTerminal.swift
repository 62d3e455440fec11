// PseudoTerminal: a terminal with the test in place of the user.

import Foundation
import Glibc
import Testing

final class PseudoTerminal: Sendable {
    /// The path of the terminal that a program opens.
    let path: String
    private let person: Int32
    /// Kept open, so that the terminal's modes can be read and remain after a prompt.
    private let terminal: Int32

    /// The longest wait for output, in milliseconds.
    private static let patience: Int32 = 60_000

    init() throws {
        // SAFETY: the path is a NUL-terminated copy, and each call of `ioctl` uses one integer,
        // within the call.
        person = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: CInt = 0
        var number: CInt = 0
        try #require(
            unsafe person >= 0 && ioctl(person, Self.setLock, &isLocked) == 0
                && ioctl(person, Self.number, &number) == 0)
        path = "/dev/pts/\(number)"
        // SAFETY: the path is a NUL-terminated copy for the duration of the call.
        terminal = unsafe open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
    }

    // The values from asm-generic/ioctls.h: TIOCSPTLCK and TIOCGPTN.
    private static let setLock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    deinit {
        close(terminal)
        close(person)
    }

    /// Whether the terminal echoes input.
    var isEchoing: Bool {
        var modes = termios()
        // SAFETY: the structure is written within the call.
        guard unsafe tcgetattr(terminal, &modes) == 0 else { return false }
        return modes.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits until a text is shown.
    /// - Returns: The output up to the end of the text.
    @discardableResult
    func expect(_ text: String) throws -> String {
        var shown: [UInt8] = []
        while !String(decoding: shown, as: UTF8.self).hasSuffix(text) {
            var waiting = pollfd(fd: person, events: Int16(POLLIN), revents: 0)
            var byte: UInt8 = 0
            // SAFETY: the entry and the byte are used within the calls.
            let isShown =
                unsafe poll(&waiting, 1, Self.patience) == 1 && read(person, &byte, 1) == 1
            try #require(
                isShown, "“\(text)” was not shown: \(String(decoding: shown, as: UTF8.self))")
            shown.append(byte)
        }
        return String(decoding: shown, as: UTF8.self)
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        // SAFETY: the bytes are read within the call.
        let count = unsafe bytes.withUnsafeBytes { unsafe write(person, $0.baseAddress, $0.count) }
        #expect(count == bytes.count)
    }
}

/// The result of code that runs on a separate thread, because the code may wait for the user.
final class Elsewhere<Value: Sendable>: Sendable {
    private let done = DispatchSemaphore(value: 0)
    private let box = Box()

    private final class Box: @unchecked Sendable {
        // No lock is needed: the value is written before the signal and read after the signal.
        var value: Value?
    }

    init(_ body: @escaping @Sendable () -> Value) {
        Thread { [box, done] in
            box.value = body()
            done.signal()
        }.start()
    }

    /// Waits for the result, at most a minute.
    func value() throws -> Value {
        try #require(done.wait(timeout: .now() + 60) == .success)
        return try #require(box.value)
    }
}
