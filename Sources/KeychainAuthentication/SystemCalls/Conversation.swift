// Conversation: a prompter that runs as a child process, and the lines that are exchanged with it.
//   (1) The child's standard input and output are one socket that this process created. If the
//       prompter dies, this process reads the end of input and receives no SIGPIPE.
//   (2) The output of the prompter is read byte by byte into locked memory. This memory is
//       erased when the last reference to it is released.
//   (3) When a conversation has ended, the child process has ended.

#if !canImport(Darwin)

import Glibc
import KeychainCrypto
import KeychainCore

final class Conversation {
    /// The prompter's response to a command.
    enum Reply {
        /// OK, with the data that preceded it.
        case done(SecretBytes?)
        /// ERR with its error code.
        case refused(UInt32)
        /// The prompt was canceled by this process.
        case interrupted
        /// The response violates the protocol, or the connection has ended.
        case broken
    }

    private let socket: OwnedDescriptor
    private let process: pid_t
    private let interruption: Interruption

    /// How long a prompter may take to end after BYE or SIGTERM before it is killed, in
    /// milliseconds.
    private static let grace: Int32 = 2000

    /// Starts a program, or returns `nil` if it can't be started or no descriptors are left.
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
        // The prompter must react to these signals even if this program ignores or blocks them.
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

    /// Sends a line. Errors are detected when the response is read.
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

    /// Reads lines up to and including OK or ERR.
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
                // Ignore status lines and comments.
            } else {
                return .broken
            }
        }
    }

    /// Reads a line without its terminator. Returns `nil` at the end of input, if the line is too
    /// long, or if the prompt is canceled.
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

    // MARK: Termination

    /// Terminates the program, in an orderly way if it responds. Must be called exactly once.
    func end() {
        if !interruption.isInterrupted { send("BYE") }
        shutdown(socket.number, Int32(SHUT_WR))
        // If the prompt is canceled, the prompter may still show its window. Then it doesn't read
        // its input, so only a signal ends it.
        if interruption.isInterrupted { kill(process, SIGTERM) }
        let end = ContinuousClock.now + .milliseconds(Self.grace)
        waitForClose(until: end)
        socket.close()
        // A prompter may still run after it has closed its end of the socket. If it still runs at
        // the time `end`, it is killed. The loop also ends if `waitpid` fails, because another part
        // of this program has already reaped the process.
        while waitpid(process, nil, WNOHANG) == 0 {
            if ContinuousClock.now >= end { kill(process, SIGKILL) }
            _ = Descriptor.wait(for: nil, until: nil, milliseconds: 1)
        }
    }

    /// Waits until the prompter has closed its end of the socket, discarding what it still sends.
    /// Gives up at the time `end`, or earlier if the prompter sends too many bytes.
    private func waitForClose(until end: ContinuousClock.Instant) {
        for _ in 0..<Assuan.longestLine {
            let left = Int32((end - .now) / .milliseconds(1))
            guard left >= 0,
                case .readable = Descriptor.wait(
                    for: socket.number, until: nil, milliseconds: left),
                Descriptor.nextByte(of: socket.number) != nil
            else { return }
        }
    }
}

extension SecretBytes {
    /// Whether the bytes begin with the given text.
    fileprivate func hasPrefix(_ text: String) -> Bool {
        let prefix = Array(text.utf8)
        // SAFETY: the bytes are read within their bounds, within the call.
        return unsafe withUnsafeBytes { unsafe $0.starts(with: prefix) }
    }

    /// Whether the line is the given word, or begins with the word and a space.
    fileprivate func isWord(_ word: String) -> Bool {
        hasPrefix(word + " ") || (count == word.utf8.count && hasPrefix(word))
    }

    /// The decimal number at an offset: 0 if there is none, and the maximum if it is too large.
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

    /// The percent-decoded bytes from an offset on, or `nil` if a percent sign is not followed by
    /// two hexadecimal digits.
    fileprivate func percentDecoded(from offset: Int) -> SecretBytes? {
        var length = 0
        var isValid = true
        // SAFETY: every index that is read is first compared with `bytes.count`. The block has
        // room for as many bytes as are encoded, and decoding doesn't add any.
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
