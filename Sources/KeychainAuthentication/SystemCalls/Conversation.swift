// Conversation: a prompter that runs as a child process, and the lines to and from it.
//   (1) Its standard input and output are one socket of ours: a prompter that dies gives the end of
//       input, and no signal to this process.
//   (2) What it sends is read into locked memory, byte by byte, and is erased with the last
//       reference to it.
//   (3) When a conversation ends, the child has ended.

#if !canImport(Darwin)

import Glibc
import KeychainCrypto
import KeychainCore

final class Conversation {
    /// What the prompter answers to a command.
    enum Reply {
        /// OK, with the data that came before it.
        case done(SecretBytes?)
        /// ERR with its number.
        case refused(UInt32)
        /// The question was taken back.
        case interrupted
        /// Not the protocol, or the end.
        case broken
    }

    private let socket: OwnedDescriptor
    private let process: pid_t
    private let interruption: Interruption

    /// How long a prompter that was told to end may take, in milliseconds.
    private static let grace: Int32 = 2000

    /// Starts a program. nil: it can't be started.
    init?(program: String, environment: [String: String], until interruption: Interruption) {
        guard let (ours, theirs) = UnixSockets.pair() else { return nil }
        defer { theirs.close() }
        guard let process = Self.start(program, environment, on: theirs.number) else { return nil }
        socket = ours
        self.process = process
        self.interruption = interruption
    }

    private static func start(
        _ program: String, _ environment: [String: String], on socket: Int32
    ) -> pid_t? {
        // SAFETY: both objects are initialized here and destroyed below; the string arrays are
        // terminated copies that live until after the call.
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // Whatever this program ignores or blocks, the prompter takes these signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGPIPE, SIGTERM] { unsafe sigaddset(&signals, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        unsafe posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_addopen(
            &actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var argv = unsafe [strdup(program), nil]
        var envp = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
        defer {
            unsafe argv.forEach { unsafe free($0) }
            unsafe envp.forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        return unsafe posix_spawn(&process, program, &actions, &attributes, &argv, &envp) == 0
            ? process : nil
    }

    // MARK: Lines

    /// Sends a line. What goes wrong shows when the reply is read.
    func send(_ line: String) {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            // SAFETY: the bytes are read within the call.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe UnixSockets.send($0, to: socket.number)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Reads lines up to OK or ERR.
    func reply() -> Reply {
        var data: SecretBytes?
        while true {
            guard let line = nextLine() else {
                return interruption.isInterrupted ? .interrupted : .broken
            }
            if line.hasPrefix("D ") {
                guard let decoded = line.percentDecoded(from: 2) else { return .broken }
                data = data.map { $0.appending(decoded) } ?? decoded
            } else if line.isWord("OK") {
                return .done(data)
            } else if line.isWord("ERR") {
                return .refused(line.number(from: 4))
            } else if line.isWord("S") || line.hasPrefix("#") {
                // Status and remarks.
            } else {
                return .broken
            }
        }
    }

    /// A line without its end; nil for the end, for a line that is too long, and when the question
    /// is taken back.
    private func nextLine() -> SecretBytes? {
        var count = 0
        var isWhole = false
        // SAFETY: every index is below longestLine, the size of the block.
        let buffer = unsafe SecretBytes(byteCount: Assuan.longestLine) { target in
            while case .readable = Descriptor.wait(for: socket.number, until: interruption),
                let byte = Descriptor.nextByte(of: socket.number)
            {
                if byte == UInt8(ascii: "\n") {
                    isWhole = true
                    return
                }
                guard count < Assuan.longestLine else { return }
                unsafe target[count] = byte
                count += 1
            }
        }
        return isWhole ? buffer.slice(0..<count) : nil
    }

    // MARK: The end

    /// Ends the program, in order if it listens. Called once.
    func end() {
        if !interruption.isInterrupted { send("BYE") }
        shutdown(socket.number, Int32(SHUT_WR))
        // A prompter that still shows its window doesn't listen.
        if interruption.isInterrupted { kill(process, SIGTERM) }
        if !hasClosed() { kill(process, SIGKILL) }
        socket.close()
        // It fails where this program reaps all its children itself.
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }

    /// Waits for a while until the program has closed its end. One that talks on is not waited for.
    private func hasClosed() -> Bool {
        for _ in 0..<Assuan.longestLine {
            guard
                case .readable = Descriptor.wait(
                    for: socket.number, until: nil, milliseconds: Self.grace)
            else { return false }
            if Descriptor.nextByte(of: socket.number) == nil { return true }
        }
        return false
    }
}

extension SecretBytes {
    /// Whether the bytes begin with a text.
    fileprivate func hasPrefix(_ text: String) -> Bool {
        let prefix = Array(text.utf8)
        // SAFETY: the bytes are read within their bounds, within the call.
        return unsafe withUnsafeBytes { unsafe $0.starts(with: prefix) }
    }

    /// Whether the line consists of a word, or of the word and more.
    fileprivate func isWord(_ word: String) -> Bool {
        hasPrefix(word + " ") || (count == word.utf8.count && hasPrefix(word))
    }

    /// The decimal number that begins at an offset; 0 for none, the greatest for one that is too
    /// great.
    fileprivate func number(from offset: Int) -> UInt32 {
        // SAFETY: the bytes are read within their bounds, within the call.
        unsafe withUnsafeBytes { bytes in
            var number: UInt32 = 0
            for index in bytes.indices.dropFirst(offset) {
                let byte = unsafe bytes[index]
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
                let (product, isTooGreat) = number.multipliedReportingOverflow(by: 10)
                let (sum, isStillTooGreat) = product.addingReportingOverflow(
                    UInt32(byte - UInt8(ascii: "0")))
                if isTooGreat || isStillTooGreat { return .max }
                number = sum
            }
            return number
        }
    }

    /// The bytes from an offset on, decoded. nil: a percent sign stands without two digits.
    fileprivate func percentDecoded(from offset: Int) -> SecretBytes? {
        var length = 0
        var isValid = true
        // SAFETY: the decoded bytes are no more than the encoded ones, which is the block's size;
        // both subscripts are checked.
        let decoded = unsafe SecretBytes(byteCount: count - offset) { target in
            unsafe withUnsafeBytes { bytes in
                var index = offset
                while index < bytes.count {
                    var byte = unsafe bytes[index]
                    index += 1
                    if byte == UInt8(ascii: "%") {
                        guard index + 1 < bytes.count,
                            let high = unsafe Self.hexDigit(bytes[index]),
                            let low = unsafe Self.hexDigit(bytes[index + 1])
                        else {
                            isValid = false
                            return
                        }
                        byte = high << 4 | low
                        index += 2
                    }
                    unsafe target[length] = byte
                    length += 1
                }
            }
        }
        return isValid ? decoded.slice(0..<length) : nil
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

#endif
