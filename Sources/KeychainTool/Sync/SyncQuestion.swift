// SyncQuestion: the questions to the user when a machine joins a circle: whether both machines show
// the same digits, and which code the other machine shows.
//   (1) Only an explicit “yes” confirms.

#if Synchronization

import Glibc
import KeychainCrypto
import KeychainSynchronization

enum SyncQuestion {
    static func areSame(_ digits: String, at terminal: borrowing Terminal) -> Bool {
        terminal.ask(
            "Digits: \(digits)\nType “yes” if the other machine shows the same digits: ")
            == "yes"
    }

    /// The code of the other machine, from the terminal or, if there is no terminal or `mayAsk` is
    /// not set, from a line of standard input. The code is not secret.
    static func code(mayAsk: Bool) throws(ControlFailure) -> PastedCode {
        let text: String
        if mayAsk, let terminal = Terminal() {
            text = terminal.ask("Code of the other machine: ") ?? ""
        } else {
            text = line()
        }
        guard let code = PastedCode(text) else {
            throw ControlFailure(
                .failure,
                "This is not a code. A code has 26 letters and digits in five groups. No machine "
                    + "was added.")
        }
        return code
    }

    private static func line() -> String {
        var line: [UInt8] = []
        while line.count < 256, let byte = Descriptor.nextByte(of: STDIN_FILENO),
            byte != UInt8(ascii: "\n")
        {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }
}

#endif
