// GnomeKeyring: gnome-keyring's daemon with its own session bus and keyring. It is used in two
// ways: through libsecret in one long-lived process, and through secret-tool.
//   (1) It is filled with a keyring file in the daemon's plain-text format. The daemon reads the
//       file when it starts, and encrypts the file when the keyring is given a password. Adding
//       items one by one makes the daemon write the whole file each time, which would take many
//       minutes for thousands of items.

import BenchmarkFigures
import Foundation

final class GnomeKeyring: Peer {
    private let variables: ChildProcess.Variables
    private let python: [String]
    private let bus: BackgroundProcess
    private let daemon: BackgroundProcess

    init(itemCount: Int, _ place: PeerPlace) throws {
        let program = try ChildProcess.path(of: "gnome-keyring-daemon")
        let busProgram = try ChildProcess.path(of: "dbus-daemon")
        let address = "unix:path=\(place.memory)/bus"
        let variables: ChildProcess.Variables = [
            "HOME": place.disk, "XDG_DATA_HOME": place.disk + "/data",
            "XDG_RUNTIME_DIR": place.memory, "DBUS_SESSION_BUS_ADDRESS": address,
        ]
        let python = try place.python("libsecret.py")
        func run(_ arguments: [String]) throws {
            _ = try ChildProcess.run(python[0], python.dropFirst() + arguments, variables)
        }
        try run(["write", place.disk + "/data/keyrings", "\(itemCount)"])
        bus = try BackgroundProcess(
            busProgram, ["--session", "--nofork", "--nosyslog", "--address=\(address)"],
            variables, listeningAt: place.memory + "/bus")
        daemon = try BackgroundProcess(
            program, ["--foreground", "--unlock", "--components=secrets"], variables,
            input: "password", listeningAt: place.memory + "/keyring/control")
        try run(["encrypt"])
        self.variables = variables
        self.python = python
    }

    var ways: [Way] {
        let (python, variables) = (python, variables)
        return [
            Way(name: "gnome-keyring, libsecret", color: "#2e8540", isWholeProcess: false) {
                try StayingProcess(python[0], Array(python.dropFirst()), variables)
            },
            Way(name: "secret-tool", color: "#2e8540", isWholeProcess: true) {
                WholeProcesses(
                    program: try ChildProcess.path(of: "secret-tool"), variables: variables,
                    command: Self.command)
            },
        ]
    }

    private static func command(_ call: PeerCall, _ index: Int) -> WholeProcesses.Command {
        let service = ["service", PeerSample.service]
        let account = PeerSample.account(of: index)
        let item = service + ["account", account]
        return switch call {
        case .load: .init(arguments: ["lookup"] + item)
        case .save:
            .init(
                arguments: ["store", "--label=\(account)"] + item,
                input: PeerSample.secret(of: index))
        case .list: .init(arguments: ["search", "--all"] + service)
        }
    }
}
