// Clipboard: accesses the clipboard of a graphical session through the installed clipboard
// programs.
//   (1) A clipboard program gets the secret as a file in memory on its standard input, never as an
//       argument.
//   (2) A background process clears the clipboard after the given time, if the clipboard still
//       contains the same secret. That process knows only the secret's SHA-256 until it reads the
//       clipboard.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct Clipboard {
    enum Tool: String, CaseIterable {
        case wayland = "wl-copy"
        case xclip
        case xsel

        /// The environment variable that identifies the display. The program is chosen only if the
        /// variable is set and not empty.
        var display: String { self == .wayland ? "WAYLAND_DISPLAY" : "DISPLAY" }

        var filling: [String] {
            switch self {
            case .wayland: ["wl-copy", "--type", "text/plain;charset=utf-8"]
            case .xclip: ["xclip", "-selection", "clipboard", "-in"]
            case .xsel: ["xsel", "--clipboard", "--input"]
            }
        }

        var reading: [String] {
            switch self {
            case .wayland: ["wl-paste", "--no-newline"]
            case .xclip: ["xclip", "-selection", "clipboard", "-out"]
            case .xsel: ["xsel", "--clipboard", "--output"]
            }
        }

        /// The command that clears the clipboard, run with an empty standard input.
        var emptying: [String] {
            switch self {
            case .wayland: ["wl-copy", "--clear"]
            case .xclip: ["xclip", "-selection", "clipboard", "-in"]
            case .xsel: ["xsel", "--clipboard", "--clear"]
            }
        }
    }

    let tool: Tool
    private let path: String?

    /// - Throws: ``ControlFailure`` if there is no display, or no program for its clipboard.
    init(_ variables: [String: String]) throws(ControlFailure) {
        path = variables["PATH"]
        let reachable = Tool.allCases.filter { variables[$0.display].map { !$0.isEmpty } ?? false }
        guard !reachable.isEmpty else {
            throw ControlFailure(
                .failure,
                "There is no clipboard: neither WAYLAND_DISPLAY nor DISPLAY is set. "
                    + "`keychainctl get` writes the secret to standard output.")
        }
        guard
            let tool = reachable.first(where: {
                ProgramStart.find($0.rawValue, in: variables["PATH"]) != nil
            })
        else {
            throw ControlFailure(
                .failure,
                "No clipboard program was found. Install wl-clipboard for Wayland, or xclip or "
                    + "xsel for X11.")
        }
        self.tool = tool
    }

    init(_ tool: Tool, path: String?) {
        self.tool = tool
        self.path = path
    }

    /// Puts a secret into the clipboard, and starts the process that clears the clipboard later.
    /// Tests pass another `startKeeper`.
    func hold(
        _ secret: [UInt8], for seconds: Int,
        startKeeper: (Tool, [UInt8], Int) -> Bool = ClipboardKeeper.start
    ) throws(ControlFailure) {
        let digest = Fingerprint.sha256(of: secret)
        guard run(tool.filling, input: secret) == 0 else {
            throw ControlFailure(
                .failure, "\(tool.rawValue) failed. The clipboard is unchanged or empty.")
        }
        guard startKeeper(tool, digest, seconds) else {
            let code = errno
            throw ControlFailure(
                .failure,
                "Can't start the process that clears the clipboard later: \(errorText(code)). "
                    + (empty()
                        ? "The clipboard was cleared."
                        : "The clipboard couldn't be cleared either: it still contains the secret.")
            )
        }
    }

    /// - Returns: Whether the clipboard program succeeded.
    @discardableResult
    func empty() -> Bool { run(tool.emptying, input: []) == 0 }

    /// The output of the clipboard program: the clipboard's content. If the program fails, the
    /// output is usually empty. Returns `nil` if the program can't be started, or if its output
    /// can't be read or has more than `limit` bytes.
    func content(atMost limit: Int) -> [UInt8]? {
        guard let (reading, writing) = Descriptor.pipe(),
            let process = spawn(tool.reading, input: [], output: writing.number)
        else { return nil }
        writing.close()
        let content = Files.content(of: reading, atMost: limit)
        reading.close()
        _ = ProgramStart.exitStatus(of: process)
        return content.map(Array.init)
    }

    // MARK: Programs

    /// - Returns: The exit status, or `nil` if the program wasn't started or a signal ended it.
    private func run(_ arguments: [String], input: [UInt8]) -> Int32? {
        spawn(arguments, input: input, output: nil).flatMap(ProgramStart.exitStatus)
    }

    /// Starts a clipboard program.
    ///
    /// The program doesn't inherit this process's output: a process that the program leaves in the
    /// background would keep the output open.
    private func spawn(_ arguments: [String], input: [UInt8], output: Int32?) -> pid_t? {
        guard let name = arguments.first, let path = ProgramStart.find(name, in: path),
            let null = Files.open("/dev/null", O_WRONLY),
            let file = MemoryFile.make(of: SecretBytes(copying: input))
        else { return nil }
        let (process, code) = ProgramStart(path, arguments: arguments)
            .spawn(input: file.number, output: output ?? null.number, errors: null.number)
        return code == 0 ? process : nil
    }
}

// MARK: - The background process

/// The process that clears the clipboard.
enum ClipboardKeeper {
    /// Passed instead of a subcommand. The parser has no option that begins with three dashes.
    private static let verb = "---empty-clipboard"
    /// The maximum size of the clipboard's content, in bytes. Larger content isn't compared with
    /// the secret, and isn't cleared. `keychainctl set` saves secrets of up to this size.
    private static let longest = 1 << 28

    /// - Returns: `false` if the process can't be started; `errno` contains the reason.
    fileprivate static func start(
        _ tool: Clipboard.Tool, _ digest: [UInt8], _ seconds: Int
    ) -> Bool {
        guard let file = MemoryFile.make(of: SecretBytes(copying: digest)),
            let null = Files.open("/dev/null", O_WRONLY)
        else { return false }
        let start = ProgramStart(
            "/proc/self/exe", arguments: ["keychainctl", verb, tool.rawValue, String(seconds)])
        let (_, code) = start.spawn(
            input: file.number, output: null.number, errors: null.number, hasOwnSession: true)
        errno = code
        return code == 0
    }

    static func isRequested(by arguments: [String]) -> Bool {
        arguments.first == verb && arguments.count == 3
    }

    /// - Parameter arguments: The arguments of the process, without its name.
    static func run(_ arguments: [String]) {
        guard let tool = Clipboard.Tool(rawValue: arguments[1]), let seconds = UInt32(arguments[2]),
            let digest = try? [UInt8](readingFrom: STDIN_FILENO, atMost: 32), digest.count == 32
        else { return }
        // The file system of a process's working folder can't be unmounted.
        _ = FileManager.default.changeCurrentDirectoryPath("/")
        var rest = seconds
        while rest > 0 { rest = sleep(rest) }
        let clipboard = Clipboard(tool, path: ProcessEnvironment.variables["PATH"])
        guard let content = clipboard.content(atMost: longest),
            Fingerprint.sha256(of: content) == digest
        else { return }
        clipboard.empty()
    }
}
