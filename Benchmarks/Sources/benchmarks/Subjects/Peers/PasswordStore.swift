// PasswordStore: pass, with a GnuPG key without a passphrase. It has no library, so each call is a
// process.
//   (1) A single gpg process encrypts all items to fill the store. Each item is a file.

import BenchmarkFigures
import Foundation

final class PasswordStore: Peer {
    private let program: String
    private let variables: ChildProcess.Variables

    init(itemCount: Int, _ place: PeerPlace) throws {
        program = try ChildProcess.path(of: "pass")
        let keys = place.memory + "/gnupg"
        let store = place.disk + "/store"
        let files = FileManager.default
        try files.createDirectory(
            atPath: keys, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        variables = ["HOME": place.disk, "GNUPGHOME": keys, "PASSWORD_STORE_DIR": store]
        let owner = "peer@example.org"
        try run(
            "gpg",
            ["--passphrase", "", "--quick-generate-key", owner, "default", "default", "never"])
        try run("pass", ["init", owner])
        let folder = store + "/" + PeerSample.service
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let paths = (0..<itemCount).map { folder + "/" + PeerSample.account(of: $0) }
        for (index, path) in paths.enumerated() {
            try Data(PeerSample.secret(of: index).utf8).write(to: URL(fileURLWithPath: path))
        }
        try run("gpg", ["--recipient", owner, "--encrypt-files"] + paths)
        for path in paths { try files.removeItem(atPath: path) }
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        let options = program == "gpg" ? ["--batch", "--quiet"] : []
        _ = try ChildProcess.run(
            ChildProcess.path(of: program), options + arguments, variables, isQuiet: true)
    }

    deinit {
        if let program = try? ChildProcess.path(of: "gpgconf") {
            _ = try? ChildProcess.run(program, ["--kill", "all"], variables)
        }
    }

    var ways: [Way] {
        let (program, variables) = (program, variables)
        return [
            Way(name: "pass", color: "#b3261e", isWholeProcess: true) {
                WholeProcesses(program: program, variables: variables, command: Self.command)
            }
        ]
    }

    private static func command(_ call: PeerCall, _ index: Int) -> WholeProcesses.Command {
        let name = PeerSample.service + "/" + PeerSample.account(of: index)
        return switch call {
        case .load: .init(arguments: ["show", name])
        case .save:
            .init(
                arguments: ["insert", "--echo", name],
                input: PeerSample.secret(of: index) + "\n")
        case .list: .init(arguments: ["ls"])
        }
    }
}
