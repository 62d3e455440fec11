// UserService: manages this user's service from outside: locates its files, determines whether a
// process listens at its socket, starts and stops it, and installs its systemd units.
//   (1) Starting the service doesn't stop a process that already listens at the socket.
//   (2) A process is terminated only if it listens at the socket, belongs to this user and runs the
//       program `keychaind`.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

/// The user's folders according to the XDG Base Directory Specification.
struct UserPlaces {
    let runtime: String
    let configuration: String
    let data: String
    let state: String

    init(_ environment: [String: String]) throws(ControlFailure) {
        switch RuntimeFolder(environment) {
        case .own(let folder): runtime = folder
        case .foreign(let folder):
            throw ControlFailure(
                .failure,
                "The folder \(folder) must belong to this user and be accessible to no other. Set "
                    + "XDG_RUNTIME_DIR to such a folder, with mode 0700.")
        case .none:
            throw ControlFailure(
                .failure,
                "There is no folder for sockets: XDG_RUNTIME_DIR isn't an absolute path, or it "
                    + "isn't set and /run/user/\(geteuid()) doesn't exist. Create a folder with "
                    + "mode 0700 that is emptied at each boot, and set XDG_RUNTIME_DIR to it for "
                    + "every program.")
        }
        guard let home = ProcessEnvironment.home(environment) else {
            throw ControlFailure(
                .failure, "Neither HOME nor the user database names a home folder. Set HOME.")
        }
        func folder(_ name: String, _ otherwise: String) -> String {
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + otherwise
        }
        configuration = folder("XDG_CONFIG_HOME", "/.config")
        data = folder("XDG_DATA_HOME", "/.local/share")
        state = folder("XDG_STATE_HOME", "/.local/state")
    }
}

struct UserService {
    let places: UserPlaces
    private let environment: [String: String]

    /// The longest time to wait for a service to listen at the socket or to end.
    private static let patience: Duration = .seconds(20)

    init() throws(ControlFailure) {
        environment = ProcessEnvironment.variables
        places = try UserPlaces(environment)
    }

    var socket: String { RuntimeFolder.socket(in: places.runtime) }
    var log: String { places.state + "/keychain/keychaind.log" }

    /// Whether a process listens at the socket.
    var isRunning: Bool { RunningService.process(at: socket) != nil }

    /// The path of `keychaind`, which must be in the same folder as this program.
    func program() throws(ControlFailure) -> String {
        // Without a folder, the path of `keychaind` would be relative, and name a file in the
        // current directory.
        guard let own = EmbeddedKeychain.executablePath, let end = own.lastIndex(of: "/") else {
            throw ControlFailure(
                .failure,
                "The folder of keychainctl can't be determined: /proc/self/exe can't be read.")
        }
        let path = own[...end] + "keychaind"
        guard Files.status(of: String(path))?.isPlainFile == true else {
            throw ControlFailure(
                .failure, "keychaind was not found next to keychainctl, at \(path). Install both.")
        }
        return String(path)
    }

    // MARK: Without systemd

    /// Starts the service in the background, and waits until a process listens at the socket.
    /// - Returns: The process ID of the service, or `nil` if another process took the socket.
    func start() throws(ControlFailure) -> pid_t? {
        let program = try program()
        let file = try openLog()
        defer { file.close() }
        // These variables of the caller's environment apply to the caller alone, not to the service
        // that all programs share.
        let own = [
            KeychainChoice.variable, EmbeddedKeychain.directoryVariable,
            EmbeddedKeychain.entitlementsVariable,
        ]
        let variables = environment.filter { !own.contains($0.key) }
        guard
            let child = ChildProgram(
                program, ["--log-level", "notice"], environment: variables, output: file.number,
                isDetached: true)
        else {
            throw ControlFailure(.failure, "Can't start \(program): \(errorText(errno)).")
        }
        var peer: pid_t?
        _ = eventually {
            let hasEnded = child.hasEnded
            peer = RunningService.process(at: socket)?.pid
            return hasEnded || peer != nil
        }
        guard let listener = peer else {
            throw ControlFailure(
                .failure,
                "keychaind was started but doesn't answer. See its log for the reason: "
                    + "\(log).")
        }
        return listener == child.process ? listener : nil
    }

    /// Terminates the process that listens at the socket, and waits until it has ended.
    /// - Returns: The process ID, or `nil` if no process listens.
    func stop() throws(ControlFailure) -> pid_t? {
        guard let peer = RunningService.process(at: socket) else { return nil }
        let executable = Files.target(ofLink: "/proc/\(peer.pid)/exe") ?? ""
        guard peer.uid == geteuid(),
            AccessGroups.programName(ofExecutable: executable) == "keychaind"
        else {
            throw ControlFailure(
                .failure,
                "Process \(peer.pid) listens at \(socket), but is not a keychaind of this user. "
                    + "Nothing was terminated.")
        }
        // The service closes its socket before it has answered the requests that it already
        // received. So the process itself must also have ended.
        let hasEnded = {
            !isRunning && Files.target(ofLink: "/proc/\(peer.pid)/exe") != executable
        }
        guard kill(peer.pid, SIGTERM) == 0 || errno == ESRCH, eventually(hasEnded) else {
            throw ControlFailure(
                .failure, "Process \(peer.pid) was told to terminate, but still runs.")
        }
        return peer.pid
    }

    /// Opens the log for appending. If it is larger than 1 MiB, it is first renamed; one earlier
    /// log is kept.
    private func openLog() throws(ControlFailure) -> OwnedDescriptor {
        var folder = ""
        for component in log.split(separator: "/").dropLast() {
            folder += "/" + component
            Files.makeFolder(folder, mode: 0o700)
        }
        if let size = Files.status(ofLink: log)?.identity.size, size > 1 << 20 {
            _ = Files.rename(log, log + ".1")
        }
        guard
            let file = Files.open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o600)
        else {
            throw ControlFailure(.failure, "Can't write the log \(log): \(errorText(errno)).")
        }
        return file
    }

    private func eventually(_ condition: () -> Bool) -> Bool {
        let end = ContinuousClock.now + Self.patience
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            usleep(20_000)
        }
        return true
    }

    /// Waits until a process listens at the socket.
    /// - Returns: `false` if none does in time.
    func answersSoon() -> Bool { eventually { isRunning } }

    // MARK: With systemd

    /// Whether systemd is the service manager of this machine, determined as by `sd_booted(3)`.
    static var isManagedBySystemd: Bool { Files.status(ofLink: "/run/systemd/system") != nil }

    /// Writes the units to a folder in which systemd looks for this user's units.
    /// - Returns: The paths of the units.
    func installUnits() throws(ControlFailure) -> [String] {
        let program = try program()
        var folder = ""
        for component in (places.configuration + "/systemd/user").split(separator: "/") {
            folder += "/" + component
            Files.makeFolder(folder, mode: 0o755)
        }
        let units = [
            (UserUnits.serviceName, UserUnits.service(running: program)),
            (UserUnits.socketName, UserUnits.socket),
        ]
        return try units.map { name, text throws(ControlFailure) in
            let path = "\(folder)/\(name)"
            do {
                try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
            } catch {
                throw ControlFailure(.failure, "Can't write the unit \(path): \(error).")
            }
            return path
        }
    }

    /// Runs `systemctl --user`, with its output on standard error.
    func systemctl(_ arguments: [String]) throws(ControlFailure) {
        let folders = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let path = folders.map { "\($0)/systemctl" }
            .first { $0.hasPrefix("/") && Files.status(of: $0)?.isPlainFile == true }
        guard let path else {
            throw ControlFailure(
                .failure, "systemctl was not found. Without systemd, use --manager none.")
        }
        var variables = environment
        variables["XDG_RUNTIME_DIR"] = places.runtime
        let child = ChildProgram(
            path, ["--user"] + arguments, environment: variables, output: STDERR_FILENO)
        guard child?.exitStatus() == 0 else {
            throw ControlFailure(
                .failure,
                "`systemctl --user \(arguments.joined(separator: " "))` failed. If this user has "
                    + "no session, `loginctl enable-linger` starts the user's systemd; without "
                    + "systemd, use --manager none.")
        }
    }
}
