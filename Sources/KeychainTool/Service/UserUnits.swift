// UserUnits: the systemd units of the user's service, and the folders where systemd looks for such
// units. A test checks that the texts equal those in Distribution/systemd/user.

import FoundationEssentials
import Glibc
import KeychainCrypto

enum UserUnits {
    static let serviceName = "keychaind.service"
    static let socketName = "keychaind.socket"

    /// The usual folders for user units. Those for configuration, which take precedence in systemd,
    /// come first. systemd.unit(5) lists further folders, which are not searched here.
    static func folders(_ places: UserPlaces) -> [String] {
        [places.configuration + "/systemd/user", "/etc/systemd/user", "/run/systemd/user"]
            + [places.data + "/systemd/user", "/usr/local/lib/systemd/user"]
            + ["/usr/local/share/systemd/user", "/usr/lib/systemd/user", "/usr/share/systemd/user"]
    }

    /// The path of the installed service unit, or `nil` unless both units are installed and the
    /// service's program exists.
    static func installed(_ places: UserPlaces) -> String? {
        let folders = folders(places)
        func place(of name: String) -> String? {
            folders.map { "\($0)/\(name)" }.first { Files.status(of: $0)?.isPlainFile == true }
        }
        guard place(of: socketName) != nil, let service = place(of: serviceName),
            let file = Files.open(service, O_RDONLY),
            let content = Files.content(of: file, atMost: 1 << 16),
            let start = String(decoding: content, as: UTF8.self).split(separator: "\n")
                .first(where: { $0.hasPrefix("ExecStart=") })
        else { return nil }
        let words = start.dropFirst("ExecStart=".count).split(separator: " ")
        guard let program = words.first else { return nil }
        let path = program.drop { "-@:+!".contains($0) }
        // systemd interprets quotation marks, escapes, specifiers and variables. A path with any of
        // these, which is rare, is assumed to exist without a check.
        let isThere =
            path.contains { "\"'\\%$".contains($0) } || Files.status(of: String(path)) != nil
        return isThere ? service : nil
    }

    /// A path as one word of a unit's command line.
    static func word(_ path: String) -> String {
        let path = path.replacing("%", with: "%%").replacing("$", with: "$$")
        let isPlain = path.utf8.allSatisfy { byte in
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                || "/._-+%$".utf8.contains(byte)
        }
        if isPlain { return path }
        let quoted = path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(quoted)\""
    }

    static func service(running executable: String) -> String {
        """
        # One user's keychain service.
        #
        # Don't use options that put a user's service into a separate namespace, such as
        # ProtectSystem=, ProtectHome= or PrivateTmp=: the kernel would then hide from the service
        # which programs its peers run.

        [Unit]
        Description=Keychain service
        Documentation=man:systemd.service(5)
        Requires=keychaind.socket
        After=keychaind.socket

        [Service]
        Type=notify
        ExecStart=\(word(executable))
        Restart=on-failure
        TimeoutStopSec=30
        # The service notifies systemd every 90 seconds that its threads are responsive.
        WatchdogSec=3min
        UMask=0077
        LimitCORE=0
        LimitMEMLOCK=64M
        LimitNOFILE=16384
        MemoryMax=2G
        TasksMax=256
        NoNewPrivileges=yes
        LockPersonality=yes
        MemoryDenyWriteExecute=yes
        RestrictAddressFamilies=AF_UNIX
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        SystemCallFilter=@system-service
        # This removes process_vm_readv. The group also contains pipes, which are allowed again.
        SystemCallFilter=~@ipc
        SystemCallFilter=pipe pipe2
        SystemCallErrorNumber=EPERM

        [Install]
        Also=keychaind.socket

        """
    }

    static let socket = """
        # The socket of one user's keychain service. Documentation/Service.md says how to install it.

        [Unit]
        Description=Socket of the keychain service
        Documentation=man:systemd.socket(5)

        [Socket]
        ListenStream=%t/keychain/socket
        SocketMode=0600
        DirectoryMode=0700
        # If the socket's file remained after a stop, programs would connect to it, and fail.
        RemoveOnStop=yes

        [Install]
        WantedBy=sockets.target

        """
}
