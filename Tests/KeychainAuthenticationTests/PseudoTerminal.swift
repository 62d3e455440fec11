// PseudoTerminal: a terminal with the test as the person in front of it.

import Foundation
import Glibc
import Testing

final class PseudoTerminal: Sendable {
    /// The name of the terminal that a program opens.
    let path: String
    private let person: Int32
    /// Kept open, so that the terminal's modes can be looked at and outlast a question.
    private let terminal: Int32

    /// The longest wait for something to be shown, in milliseconds.
    private static let patience: Int32 = 60_000

    init() throws {
        // SAFETY: the path is a terminated copy, and both calls use one integer each, within the
        // call.
        person = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: CInt = 0
        var number: CInt = 0
        try #require(
            unsafe person >= 0 && ioctl(person, Self.setLock, &isLocked) == 0
                && ioctl(person, Self.number, &number) == 0)
        path = "/dev/pts/\(number)"
        // SAFETY: the path is a terminated copy for the duration of the call.
        terminal = unsafe open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
    }

    // Of asm-generic/ioctls.h: TIOCSPTLCK and TIOCGPTN.
    private static let setLock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    deinit {
        close(terminal)
        close(person)
    }

    /// Whether what is typed is shown.
    var isEchoing: Bool {
        var modes = termios()
        // SAFETY: written within the call.
        guard unsafe tcgetattr(terminal, &modes) == 0 else { return false }
        return modes.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits until a text is shown. Gives what was shown up to there.
    @discardableResult
    func expect(_ text: String) throws -> String {
        var shown: [UInt8] = []
        while !String(decoding: shown, as: UTF8.self).hasSuffix(text) {
            var waiting = pollfd(fd: person, events: Int16(POLLIN), revents: 0)
            var byte: UInt8 = 0
            // SAFETY: one entry and one byte, used within the calls.
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

/// What a thread of its own comes to, which may wait for a person.
final class Elsewhere<Value: Sendable>: Sendable {
    private let done = DispatchSemaphore(value: 0)
    private let box = Box()

    private final class Box: @unchecked Sendable {
        // No lock is needed: written before the signal, read after it.
        var value: Value?
    }

    init(_ body: @escaping @Sendable () -> Value) {
        Thread { [box, done] in
            box.value = body()
            done.signal()
        }.start()
    }

    /// Waits for it, a minute at the most.
    func value() throws -> Value {
        try #require(done.wait(timeout: .now() + 60) == .success)
        return try #require(box.value)
    }
}
