// KeychainChoice: decides whether a process opens the keychain itself or uses a service, and
// provides that keychain.
//   (1) The first of these that applies decides:
//         the variable KEYCHAIN_SERVICE; the variable KEYCHAIN_DIRECTORY; the configuration file;
//         the socket of the user's service; the socket of the machine's service.
//       If none applies, the process uses embedded mode.
//   (2) The decision is made once per process. A failure to decide isn't cached.
//   (3) If a service's socket exists, the process uses it, even if no service answers there. The
//       requests then fail: if another keychain were opened instead, all items would seem to be
//       gone. A socket that the user's service left behind when it was killed is ignored, provided
//       that embedded mode would open the same keychain that the service had open.
//   (4) If a user's own service has served a keychain before and isn't running now, the machine's
//       service isn't used either: it has another keychain, in which the items would seem to be
//       gone. This is an error, and its text says how to choose a keychain.
//   (5) A process has one client per socket. A failure to reach the service isn't cached.

package import FoundationEssentials
import Glibc
package import KeychainCore
package import KeychainCrypto
import KeychainEngine
import KeychainWire
import Synchronization

/// Which keychain a process uses, and what determined it.
package struct KeychainChoice: Hashable, Sendable {
    package enum Mode: Hashable, Sendable {
        /// The process opens the keychain's folder itself.
        case embedded
        /// A service has the keychain open, and listens on this socket, an absolute path.
        case service(socket: String)
    }

    package let mode: Mode
    /// What determined the mode, as a phrase that follows “by”, such as “the variable
    /// KEYCHAIN_SERVICE”.
    package let reason: String

    package init(_ mode: Mode, reason: String) {
        self.mode = mode
        self.reason = reason
    }

    /// The environment variable with `embedded` or the path of a service's socket.
    package static let variable = "KEYCHAIN_SERVICE"
    /// The value of the variable and of the configuration file for embedded mode.
    package static let embeddedName = "embedded"
    /// The path of the socket of the machine's service.
    package static let systemSocket = "/run/keychaind/socket"

    /// The path of a dedicated socket of this user's service.
    /// - Throws: `param` if the user has no runtime folder.
    package static func ownSocket(
        _ name: String, _ context: ChoiceContext = ChoiceContext()
    ) throws(KeychainFailure) -> String {
        guard let folder = context.runtimeFolder.path else {
            throw .param(
                "This user has no runtime folder: XDG_RUNTIME_DIR isn't an absolute path, or it "
                    + "isn't set and there is no folder in /run/user that only this user can "
                    + "enter.")
        }
        return ownSocket(name, beside: RuntimeFolder.socket(in: folder))
    }

    /// The path of a dedicated socket of a service whose main socket is `socket`.
    package static func ownSocket(_ name: String, beside socket: String) -> String {
        let folder = socket.lastIndex(of: "/").map { socket[..<$0] } ?? ""
        return "\(folder)/sockets/\(name)/socket"
    }

    private static let decided = Mutex<KeychainChoice?>(nil)

    /// The choice of this process.
    /// - Throws: `param` for an invalid variable or configuration file, for a socket in a runtime
    ///   folder to which other users have access (``RuntimeFolder/foreign(_:)``), and if the items
    ///   would seem to be gone, see (3) and (4).
    package static func current() throws(KeychainFailure) -> KeychainChoice {
        try decided.withLock { decided throws(KeychainFailure) in
            if let choice = decided { return choice }
            let choice = try KeychainChoice(ChoiceContext())
            decided = choice
            return choice
        }
    }

    /// Decides from the context of a process.
    /// - Throws: `param` for an invalid variable or configuration file, for a socket in a runtime
    ///   folder to which other users have access (``RuntimeFolder/foreign(_:)``), and if the items
    ///   would seem to be gone, see (3) and (4).
    package init(_ context: ChoiceContext) throws(KeychainFailure) {
        if let value = context.variable(Self.variable) {
            let reason = "the variable \(Self.variable)"
            guard let mode = Mode(value) else {
                throw .param(
                    "\(Self.variable) must be “\(Self.embeddedName)” or the absolute path of a "
                        + "socket.")
            }
            self.init(mode, reason: reason)
        } else if context.variable(EmbeddedKeychain.directoryVariable) != nil {
            self.init(.embedded, reason: "the variable \(EmbeddedKeychain.directoryVariable)")
        } else if let configured = try context.configuration() {
            self = configured
        } else {
            let (socket, isLeft) = try context.userSocket()
            if let socket {
                self.init(.service(socket: socket), reason: "the socket of this user's service")
            } else if context.exists(Self.systemSocket) {
                try context.checkNoServiceOfUser()
                self.init(
                    .service(socket: Self.systemSocket),
                    reason: "the socket of the machine's service")
            } else {
                let cause =
                    isLeft
                    ? "this user's service has ended and left its socket behind"
                    : "no service has a socket"
                self.init(.embedded, reason: "default, because \(cause)")
            }
        }
    }
}

extension KeychainChoice.Mode {
    /// Parses the value of the variable or of the configuration file.
    /// - Returns: `nil` for a text that is neither `embedded` nor an absolute path.
    init?(_ text: String) {
        if text == KeychainChoice.embeddedName {
            self = .embedded
        } else if text.hasPrefix("/") {
            self = .service(socket: text)
        } else {
            return nil
        }
    }
}

// MARK: - The context

/// Variables, files and sockets, as a process sees them. Tests replace them.
package struct ChoiceContext: Sendable {
    private let environment: [String: String]
    /// Whether anything exists at a path.
    let exists: @Sendable (String) -> Bool
    /// The content of a file. `nil` if there is none.
    private let read: @Sendable (String) throws(KeychainFailure) -> Data?
    private let status: @Sendable (String) -> FileStatus?
    /// The note about a socket that a service left behind when it ended.
    private let leftNote: @Sendable (String) -> SocketNote?

    package init(
        environment: [String: String] = ProcessEnvironment.variables,
        exists: @escaping @Sendable (String) -> Bool = { Files.isThere($0) },
        read: @escaping @Sendable (String) throws(KeychainFailure) -> Data? =
            ChoiceContext.content,
        status: @escaping @Sendable (String) -> FileStatus? = { Files.status(ofLink: $0) },
        leftNote: @escaping @Sendable (String) -> SocketNote? = { SocketNote(leftWith: $0) }
    ) {
        self.environment = environment
        self.exists = exists
        self.read = read
        self.status = status
        self.leftNote = leftNote
    }

    /// The value of an environment variable. An empty value counts as not set.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func folder(_ name: String) -> String? {
        variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    var runtimeFolder: RuntimeFolder { RuntimeFolder(environment, status: status) }

    /// The path of the socket of this user's service. The path is `nil` if there is no socket, or
    /// if a service that has ended left the socket behind. `isLeft` distinguishes the two cases.
    /// - Throws: `param` if there is a socket in a ``RuntimeFolder/foreign(_:)`` folder, and if the
    ///   service that has ended had a different keychain open from the one that this program would
    ///   open.
    func userSocket() throws(KeychainFailure) -> (path: String?, isLeft: Bool) {
        switch runtimeFolder {
        case .none: return (nil, false)
        case .own(let folder):
            let socket = RuntimeFolder.socket(in: folder)
            guard exists(socket) else { return (nil, false) }
            guard let note = leftNote(socket) else { return (socket, false) }
            let own = try EmbeddedKeychain.location(environment).directory
            guard Self.isSame(note.folder, own) else {
                throw .param(
                    "The service that created the socket \(socket) has ended. It had the keychain "
                        + "in \(note.folder) open, but this program would open the one in \(own). "
                        + "Restart the service with the same options, or choose the keychain in "
                        + "\(configurationPath): {\"service\": "
                        + "\"\(KeychainChoice.embeddedName)\"}.")
            }
            return (nil, true)
        case .foreign(let folder):
            guard exists(RuntimeFolder.socket(in: folder)) else { return (nil, false) }
            throw .param(
                "XDG_RUNTIME_DIR isn't set, and \(folder) contains the socket of a keychain "
                    + "service but belongs to another user or can be entered by others. Choose the "
                    + "keychain by setting XDG_RUNTIME_DIR or \(KeychainChoice.variable).")
        }
    }

    /// Whether two paths refer to the same folder.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        guard one != other else { return true }
        guard let one = Files.status(of: one)?.identity,
            let other = Files.status(of: other)?.identity
        else { return false }
        return one.device == other.device && one.inode == other.inode
    }

    /// Checks that this user's own service has never served the user's keychain.
    /// - Throws: `param` if it has.
    func checkNoServiceOfUser() throws(KeychainFailure) {
        guard let folder = try? EmbeddedKeychain.location(environment).directory,
            exists(folder + "/" + EmbeddedKeychain.serviceLockName)
        else { return }
        throw .param(
            "This user's own service has served the keychain in \(folder) before and isn't "
                + "running, and the machine's service has a different one. Start the user's "
                + "service with "
                + "`keychainctl service enable`, or choose the keychain in \(configurationPath): "
                + "{\"service\": \"\(KeychainChoice.systemSocket)\"} or {\"service\": "
                + "\"\(KeychainChoice.embeddedName)\"}.")
    }

    /// The path of the configuration file, which may not exist.
    var configurationPath: String {
        let folder =
            folder("XDG_CONFIG_HOME") ?? (ProcessEnvironment.home(environment) ?? "") + "/.config"
        return folder + "/keychain/config.json"
    }

    // MARK: Files

    /// The choice in the configuration file. `nil` if the file or its entry `service` is absent.
    func configuration() throws(KeychainFailure) -> KeychainChoice? {
        let path = configurationPath
        guard let data = try read(path) else { return nil }
        let settings: Settings
        do {
            settings = try JSONDecoder().decode(Settings.self, from: data)
        } catch {
            throw .param("The configuration file \(path) isn't JSON of the form {\"service\": …}.")
        }
        guard let service = settings.service else { return nil }
        guard let mode = KeychainChoice.Mode(service) else {
            throw .param(
                "In the configuration file \(path), “service” must be "
                    + "“\(KeychainChoice.embeddedName)” or the absolute path of a socket.")
        }
        return KeychainChoice(mode, reason: "the configuration file \(path)")
    }

    private struct Settings: Decodable {
        var service: String?
    }

    /// The maximum size of the configuration file in bytes.
    private static let configurationByteCount = 64 << 10

    /// The content of the configuration file at a path. `nil` if the file doesn't exist.
    /// - Throws: `param` if the file can't be read or is too large. It isn't ignored then, because
    ///   it may choose another keychain than the default.
    package static func content(_ path: String) throws(KeychainFailure) -> Data? {
        guard Files.isThere(path) else { return nil }
        guard let file = Files.open(path, O_RDONLY) else {
            throw .param("The configuration file \(path) can't be read.")
        }
        defer { file.close() }
        guard let data = Files.content(of: file, atMost: configurationByteCount) else {
            throw .param(
                "The configuration file \(path) can't be read, or has more than "
                    + "\(configurationByteCount) bytes.")
        }
        return data
    }
}

// MARK: - The keychain of this process

/// The keychain that a process uses unless its program names the folder of another one.
package enum ProcessKeychain {
    private static let clients = Mutex<[String: ServiceClient]>([:])

    /// The keychain, and the access groups that this program has there.
    /// - Throws: `missingEntitlement` if the entitlements can't be read; `param` if no keychain can
    ///   be chosen; or the reason why the keychain can't be opened or reached.
    package static func connection() throws(KeychainFailure) -> ProcessConnection {
        switch try KeychainChoice.current().mode {
        case .embedded: return try EmbeddedKeychain.connection()
        case .service(let socket):
            let client = client(for: socket)
            return ProcessConnection(
                handler: .service(client), caller: try client.welcome().entitlements.accessGroups)
        }
    }

    /// The keychain for administration. With a service, this call doesn't connect yet.
    package static func administration() throws(KeychainFailure) -> KeychainHandler {
        switch try KeychainChoice.current().mode {
        case .embedded:
            return try EmbeddedKeychain.keychain(in: EmbeddedKeychain.location().directory)
        case .service(let socket): return .service(client(for: socket))
        }
    }

    /// The entitlements of this program.
    package static func entitlements() throws(KeychainFailure) -> Entitlements {
        switch try KeychainChoice.current().mode {
        case .embedded: return try EmbeddedKeychain.entitlements()
        case .service(let socket): return try client(for: socket).welcome().entitlements
        }
    }

    /// The client for a socket. All callers in this process share the client.
    package static func client(for socket: String) -> ServiceClient {
        clients.withLock { clients in
            if let client = clients[socket] { return client }
            let client = ServiceClient(socketPath: socket)
            clients[socket] = client
            return client
        }
    }
}
