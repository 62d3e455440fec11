// Terminal: the terminal that the process belongs to, for asking a person.
//   (1) Hidden input is neither echoed nor kept by the terminal's line editing, and goes into
//       locked memory byte by byte.
//   (2) The terminal's modes are as before when a question ends, however it ends, unless a signal
//       ends the process meanwhile: handlers are the program's own.
//   (3) What was typed before a hidden question was asked is discarded: it was echoed.

import Glibc
package import KeychainCore

package struct Terminal: ~Copyable {
    /// The longest hidden input, in bytes.
    package static let longestInput = 4096

    private let descriptor: Int32

    /// - Returns: nil for a process without a controlling terminal.
    package init?() {
        self.init(path: "/dev/tty")
    }

    /// A terminal by name.
    package init?(path: String) {
        let descriptor = Files.openNumber(path, O_RDWR | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Whether the process may ask. One in the background that reads is stopped by the terminal.
    package var isForeground: Bool {
        tcgetpgrp(descriptor) == getpgrp()
    }

    /// Shows something to the person, whatever standard output and error are.
    package func show(_ text: String) {
        _ = Descriptor.write(Array(text.utf8), to: descriptor)
    }

    // MARK: Questions

    /// Asks for a line that is shown as it is typed. nil: the person ended the input.
    package func ask(_ prompt: String) -> String? {
        show(prompt)
        var line: [UInt8] = []
        while let byte = Descriptor.nextByte(of: descriptor) {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        show("\n")
        return nil
    }

    /// How a hidden question ended.
    package enum HiddenLine {
        case line(SecretBytes)
        /// Control-D on an empty line, or the terminal went away.
        case ended
        /// Control-C. The signal was not raised.
        case signalled
        /// The question was taken back.
        case interrupted
    }

    /// Asks for a line that is not shown. Backspace and Control-U edit.
    package func readHiddenLine(
        _ prompt: String, until interruption: Interruption? = nil
    ) -> HiddenLine {
        guard let before = modes() else { return .ended }
        var hidden = before
        hidden.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG)
        hidden.c_iflag |= tcflag_t(ICRNL)
        guard setModes(hidden) else { return .ended }
        show(prompt)
        let line = readHidden(until: interruption)
        _ = setModes(before)
        show("\n")
        return line
    }

    private enum Key {
        static let interrupt: UInt8 = 0x03
        static let endOfInput: UInt8 = 0x04
        static let backspace: UInt8 = 0x08
        static let eraseLine: UInt8 = 0x15
        static let delete: UInt8 = 0x7F
    }

    private func readHidden(until interruption: Interruption?) -> HiddenLine {
        var count = 0
        var ending: HiddenLine?
        // SAFETY: every index is below longestInput, the size of the block.
        let buffer = unsafe SecretBytes(byteCount: Self.longestInput) { target in
            reading: while true {
                if let interruption,
                    case .interrupted = Descriptor.wait(for: descriptor, until: interruption)
                {
                    ending = .interrupted
                    break
                }
                guard let byte = Descriptor.nextByte(of: descriptor) else {
                    ending = .ended
                    break
                }
                switch byte {
                case UInt8(ascii: "\n"):
                    break reading
                case Key.interrupt:
                    ending = .signalled
                    break reading
                case Key.endOfInput where count == 0:
                    ending = .ended
                    break reading
                case Key.backspace, Key.delete:
                    // The last character with all its UTF-8 bytes.
                    while count > 0 {
                        count -= 1
                        if unsafe target[count] & 0xC0 != 0x80 { break }
                    }
                case Key.eraseLine:
                    count = 0
                case 0x20..., UInt8(ascii: "\t"):
                    guard count < Self.longestInput else {
                        show("\u{7}")
                        continue
                    }
                    unsafe target[count] = byte
                    count += 1
                default:
                    // A key that gives no character. The bell says that it was not taken.
                    show("\u{7}")
                }
            }
        }
        return ending ?? .line(buffer.slice(0..<count))
    }

    // MARK: The device

    private func modes() -> termios? {
        var modes = termios()
        // SAFETY: written by the call, read after it.
        return unsafe tcgetattr(descriptor, &modes) == 0 ? modes : nil
    }

    private func setModes(_ modes: termios) -> Bool {
        var modes = modes
        while true {
            // SAFETY: read within the call.
            if unsafe tcsetattr(descriptor, TCSAFLUSH, &modes) == 0 { return true }
            guard errno == EINTR else { return false }
        }
    }
}
