// Terminal: the terminal that the process belongs to, for asking a person.
//   (1) Hidden input is neither echoed nor kept by the terminal's line editing, and goes into
//       locked memory byte by byte.
//   (2) The terminal's modes are as before when a question ends, however it ends, short of a
//       signal that can't be caught.
//   (3) What was typed before a hidden question was asked is discarded: it was echoed.

import Glibc
import KeychainCrypto

struct Terminal: ~Copyable {
    /// The longest hidden input, in bytes.
    static let longestInput = 4096

    private let descriptor: Int32

    /// - Returns: nil for a process without a controlling terminal.
    init?() {
        // SAFETY: the path is a terminated copy for the duration of the call.
        let descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Shows something to the person, whatever standard output and error are.
    func show(_ text: String) {
        _ = Descriptor.write(Array(text.utf8), to: descriptor)
    }

    // MARK: Questions

    /// Asks for a line that is shown as it is typed. nil: the person ended the input.
    func ask(_ prompt: String) -> String? {
        show(prompt)
        var line: [UInt8] = []
        while let byte = nextByte() {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        show("\n")
        return nil
    }

    /// Asks for a line that is not shown. nil: the person ended the input.
    ///
    /// Backspace and Control-U edit, Control-C interrupts the process as always.
    func askHidden(_ prompt: String) -> SecretBytes? {
        guard let before = modes() else { return nil }
        var hidden = before
        hidden.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG)
        hidden.c_iflag |= tcflag_t(ICRNL)
        setModes(hidden)
        show(prompt)
        let input = readHidden()
        setModes(before)
        show("\n")
        if input.isInterrupted {
            raise(SIGINT)
            // Still here: whoever started this process had it ignore or block the signal.
            exit(128 + SIGINT)
        }
        return input.bytes
    }

    private struct HiddenInput {
        var bytes: SecretBytes?
        var isInterrupted = false
    }

    private enum Key {
        static let interrupt: UInt8 = 0x03
        static let endOfInput: UInt8 = 0x04
        static let backspace: UInt8 = 0x08
        static let eraseLine: UInt8 = 0x15
        static let delete: UInt8 = 0x7F
    }

    private func readHidden() -> HiddenInput {
        var count = 0
        var isEnded = false
        var isInterrupted = false
        // SAFETY: every index is below longestInput, the size of the block.
        let buffer = unsafe SecretBytes(byteCount: Self.longestInput) { target in
            reading: while true {
                guard let byte = nextByte() else {
                    isEnded = true
                    break
                }
                switch byte {
                case UInt8(ascii: "\n"):
                    break reading
                case Key.interrupt:
                    isInterrupted = true
                    break reading
                case Key.endOfInput where count == 0:
                    isEnded = true
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
        if isEnded || isInterrupted { return HiddenInput(bytes: nil, isInterrupted: isInterrupted) }
        return HiddenInput(bytes: buffer.slice(0..<count))
    }

    // MARK: The device

    private func nextByte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            // SAFETY: one byte is written to the variable.
            let count = unsafe read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }

    private func modes() -> termios? {
        var modes = termios()
        // SAFETY: written by the call, read after it.
        return unsafe tcgetattr(descriptor, &modes) == 0 ? modes : nil
    }

    private func setModes(_ modes: termios) {
        var modes = modes
        // SAFETY: read within the call.
        while unsafe tcsetattr(descriptor, TCSAFLUSH, &modes) != 0, errno == EINTR {}
    }
}
