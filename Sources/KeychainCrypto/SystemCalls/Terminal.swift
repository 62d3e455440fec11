// Terminal: asks the user at the controlling terminal of this process, or at another one.
//   (1) Hidden input is neither echoed nor buffered by the terminal's line editing. It is read byte
//       by byte into locked memory.
//   (2) The terminal's modes are restored when a hidden question ends in any way, unless a signal
//       ends the process first. Handling signals is left to the program.
//   (3) Input that was typed before a hidden question was shown is discarded, because it was
//       echoed.

import Glibc
package import KeychainCore

package struct Terminal: ~Copyable {
    /// The maximum length of hidden input, in bytes.
    package static let longestInput = 4096

    private let descriptor: Int32

    /// - Returns: `nil` if the process has no controlling terminal.
    package init?() {
        self.init(path: "/dev/tty")
    }

    /// Opens a terminal by path.
    package init?(path: String) {
        let descriptor = Files.openNumber(path, O_RDWR | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Whether this is the controlling terminal of the process, and the process is in the
    /// terminal's foreground. A controlling terminal stops a background process that reads from it.
    package var isForeground: Bool {
        tcgetpgrp(descriptor) == getpgrp()
    }

    /// Shows a text to the user, regardless of standard output and error.
    package func show(_ text: String) {
        _ = Descriptor.write(Array(text.utf8), to: descriptor)
    }

    // MARK: Questions

    /// Asks for a line that is shown as it is typed. Returns `nil` if the input ended or couldn't
    /// be read.
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

    /// The outcome of a hidden question.
    package enum HiddenLine {
        case line(SecretBytes)
        /// Control-D on an empty line, or the terminal was closed or its modes can't be changed.
        case ended
        /// Control-C. No signal was raised.
        case signalled
        /// The question was canceled.
        case interrupted
    }

    /// Asks for a line that is not shown. Backspace and Control-U edit the line.
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
        static let escape: UInt8 = 0x1B
        static let delete: UInt8 = 0x7F
    }

    /// The part of a key's escape sequence that was read. Arrow keys and function keys send such a
    /// sequence, and produce no character.
    private enum EscapeSequence {
        case none
        /// ESC was read, and a further byte of the same key can be read.
        case begun
        /// ESC [ and any number of parameter bytes. A final byte ends the sequence.
        case control
        /// ESC O, or ESC [ [ of the Linux console. One more byte belongs to the key.
        case oneMore

        /// The longest time between ESC and the next byte of the same key, in milliseconds. Nobody
        /// types two keys that fast.
        static let pause: Int32 = 50

        /// - Returns: Whether the byte belongs to the sequence. Control characters never belong to
        ///   a sequence, so they always keep their meaning.
        mutating func takes(_ byte: UInt8) -> Bool {
            switch (self, byte) {
            case (.begun, UInt8(ascii: "[")): self = .control
            case (.begun, UInt8(ascii: "O")), (.control, UInt8(ascii: "[")): self = .oneMore
            case (.control, 0x20...0x3F): break
            case (.control, 0x40...0x7E), (.oneMore, 0x20...0x7E): self = .none
            default:
                self = .none
                return false
            }
            return true
        }
    }

    private func readHidden(until interruption: Interruption?) -> HiddenLine {
        var count = 0
        var ending: HiddenLine?
        // SAFETY: every index is below longestInput, the size of the block.
        let buffer = unsafe SecretBytes(byteCount: Self.longestInput) { target in
            var sequence = EscapeSequence.none
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
                if sequence.takes(byte) { continue }
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
                    // Removes the last Unicode scalar with all its UTF-8 bytes.
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
                case Key.escape:
                    let next = Descriptor.wait(
                        for: descriptor, until: interruption, milliseconds: EscapeSequence.pause)
                    if case .readable = next { sequence = .begun }
                    show("\u{7}")
                default:
                    // Other control characters are ignored, and the terminal's bell sounds.
                    show("\u{7}")
                }
            }
        }
        return ending ?? .line(buffer.slice(0..<count))
    }

    // MARK: The device

    private func modes() -> termios? {
        var modes = termios()
        // SAFETY: the modes are written during the call and read after it.
        return unsafe tcgetattr(descriptor, &modes) == 0 ? modes : nil
    }

    private func setModes(_ modes: termios) -> Bool {
        var modes = modes
        while true {
            // SAFETY: the modes are read during the call.
            if unsafe tcsetattr(descriptor, TCSAFLUSH, &modes) == 0 { return true }
            guard errno == EINTR else { return false }
        }
    }
}
