// ChoiceTests: the keychain that a process uses, rule by rule.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import Testing

/// The context of a process, and the expected choice.
struct ChoiceRow: Sendable {
    let name: String
    var environment: [String: String] = [:]
    /// The paths of the sockets and lock files that exist. A user's service leaves a lock file in
    /// its keychain's folder.
    var sockets: Set<String> = []
    /// The configuration files that exist: their contents, by path.
    var files: [String: String] = [:]
    /// The owner and mode of the user's folder in /run/user, or `nil` if it doesn't exist.
    var folder: (owner: uid_t, mode: mode_t)?
    /// The folder of the keychain that a killed service had open, or `nil` if no killed service
    /// left its socket.
    var left: String?
    /// The expected mode, or `nil` if the choice fails.
    let mode: KeychainChoice.Mode?
    /// A part of the expected reason or failure.
    let mention: String

    static let standardFolder = "/run/user/\(geteuid())"
    static let standardSocket = standardFolder + "/keychain/socket"

    func choice() throws(KeychainFailure) -> KeychainChoice {
        try KeychainChoice(
            ChoiceContext(
                environment: environment, exists: { [sockets] in sockets.contains($0) },
                read: { [files] path throws(KeychainFailure) in
                    files[path].map { Data($0.utf8) }
                },
                status: { [folder] path in
                    guard let folder, path == ChoiceRow.standardFolder else { return nil }
                    return FileStatus(
                        identity: FileIdentity(
                            device: 0, inode: 0, size: 0, modified: 0, changed: 0),
                        owner: folder.owner, mode: folder.mode)
                },
                leftNote: { [left] _ in
                    left.map { folder in
                        SocketNote(
                            FileStatus(
                                identity: FileIdentity(
                                    device: 0, inode: 0, size: 0, modified: 0, changed: 0),
                                owner: geteuid(), mode: S_IFSOCK), folder: folder)
                    }
                }))
    }
}

@Suite struct `The choice of a keychain` {
    static let user = "/run/user/1/keychain/socket"
    static let system = "/run/keychaind/socket"
    static let configuration = "/c/keychain/config.json"

    /// The rows follow the order of the rules in KeychainChoice.swift.
    static let rows: [ChoiceRow] = [
        // The environment variable for the service.
        ChoiceRow(
            name: "the variable names a socket",
            environment: ["KEYCHAIN_SERVICE": "/a/b", "KEYCHAIN_DIRECTORY": "/d"],
            sockets: [user], mode: .service(socket: "/a/b"), mention: "KEYCHAIN_SERVICE"),
        ChoiceRow(
            name: "the variable says embedded",
            environment: ["KEYCHAIN_SERVICE": "embedded", "XDG_RUNTIME_DIR": "/run/user/1"],
            sockets: [user, system], mode: .embedded, mention: "KEYCHAIN_SERVICE"),
        ChoiceRow(
            name: "the variable names a relative path",
            environment: ["KEYCHAIN_SERVICE": "a/b"], mode: nil, mention: "KEYCHAIN_SERVICE"),
        ChoiceRow(
            name: "the variable says something else",
            environment: ["KEYCHAIN_SERVICE": "Embedded"], mode: nil, mention: "KEYCHAIN_SERVICE"),
        ChoiceRow(
            name: "the variable is empty",
            environment: ["KEYCHAIN_SERVICE": ""], mode: .embedded, mention: "default"),
        // The environment variable for the folder.
        ChoiceRow(
            name: "a folder is named",
            environment: ["KEYCHAIN_DIRECTORY": "/d", "XDG_CONFIG_HOME": "/c"],
            sockets: [user, system], files: [configuration: #"{"service": "/a"}"#],
            mode: .embedded, mention: "KEYCHAIN_DIRECTORY"),
        ChoiceRow(
            name: "the folder's name is empty",
            environment: ["KEYCHAIN_DIRECTORY": "", "XDG_RUNTIME_DIR": "/run/user/1"],
            sockets: [user], mode: .service(socket: user), mention: "user"),
        // The configuration file.
        ChoiceRow(
            name: "the file names a socket",
            environment: ["XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/run/user/1"],
            sockets: [user], files: [configuration: #"{"service": "/a/b"}"#],
            mode: .service(socket: "/a/b"), mention: configuration),
        ChoiceRow(
            name: "the file says embedded",
            environment: ["XDG_CONFIG_HOME": "/c"],
            sockets: [system], files: [configuration: #"{"service": "embedded"}"#],
            mode: .embedded, mention: configuration),
        ChoiceRow(
            name: "the file is below the home folder",
            environment: ["HOME": "/h"],
            files: ["/h/.config/keychain/config.json": #"{"service": "/a/b"}"#],
            mode: .service(socket: "/a/b"), mention: "/h/.config"),
        ChoiceRow(
            name: "the folder of the file isn't an absolute path",
            environment: ["XDG_CONFIG_HOME": "c", "HOME": "/h"],
            files: [
                "c/keychain/config.json": #"{"service": "/wrong"}"#,
                "/h/.config/keychain/config.json": #"{"service": "/right"}"#,
            ], mode: .service(socket: "/right"), mention: "/h/.config"),
        ChoiceRow(
            name: "the file names no service",
            environment: ["XDG_CONFIG_HOME": "/c"], sockets: [system],
            files: [configuration: "{}"], mode: .service(socket: system), mention: "machine"),
        ChoiceRow(
            name: "the file isn't JSON",
            environment: ["XDG_CONFIG_HOME": "/c"], sockets: [system],
            files: [configuration: "service = embedded"], mode: nil, mention: configuration),
        ChoiceRow(
            name: "the file is empty",
            environment: ["XDG_CONFIG_HOME": "/c"], files: [configuration: ""], mode: nil,
            mention: configuration),
        ChoiceRow(
            name: "the file says a number",
            environment: ["XDG_CONFIG_HOME": "/c"], files: [configuration: #"{"service": 1}"#],
            mode: nil, mention: configuration),
        ChoiceRow(
            name: "the file names a relative path",
            environment: ["XDG_CONFIG_HOME": "/c"], files: [configuration: #"{"service": "a"}"#],
            mode: nil, mention: configuration),
        // Sockets.
        ChoiceRow(
            name: "both sockets are there",
            environment: ["XDG_RUNTIME_DIR": "/run/user/1"], sockets: [user, system],
            mode: .service(socket: user), mention: "user"),
        ChoiceRow(
            name: "the machine's socket is there",
            environment: ["XDG_RUNTIME_DIR": "/run/user/1"], sockets: [system],
            mode: .service(socket: system), mention: "machine"),
        ChoiceRow(
            name: "the user has no folder for sockets", sockets: [user, system],
            mode: .service(socket: system), mention: "machine"),
        // A cron job, for example, runs without XDG_RUNTIME_DIR. The folder is found without it.
        ChoiceRow(
            name: "the login manager's folder is found",
            sockets: [ChoiceRow.standardSocket, system], folder: (geteuid(), S_IFDIR | 0o700),
            mode: .service(socket: ChoiceRow.standardSocket), mention: "user"),
        ChoiceRow(
            name: "the variable says that there is no folder",
            environment: ["XDG_RUNTIME_DIR": ""], sockets: [ChoiceRow.standardSocket],
            folder: (geteuid(), S_IFDIR | 0o700), mode: .embedded, mention: "default"),
        ChoiceRow(
            name: "the login manager's folder is another user's",
            sockets: [ChoiceRow.standardSocket, system],
            folder: (geteuid() + 1, S_IFDIR | 0o700), mode: nil, mention: "XDG_RUNTIME_DIR"),
        ChoiceRow(
            name: "others may enter the login manager's folder",
            sockets: [ChoiceRow.standardSocket], folder: (geteuid(), S_IFDIR | 0o750),
            mode: nil, mention: "XDG_RUNTIME_DIR"),
        ChoiceRow(
            name: "the login manager's folder is a symbolic link",
            sockets: [ChoiceRow.standardSocket], folder: (geteuid(), S_IFLNK | 0o700),
            mode: nil, mention: "XDG_RUNTIME_DIR"),
        ChoiceRow(
            name: "another user's folder has no service", sockets: [system],
            folder: (geteuid() + 1, S_IFDIR | 0o755), mode: .service(socket: system),
            mention: "machine"),
        // A user's service that isn't running, and the machine's service.
        ChoiceRow(
            name: "a user's service has served the keychain",
            environment: ["HOME": "/h"],
            sockets: [system, "/h/.local/share/keychain/service-lock"], mode: nil,
            mention: "keychainctl service enable"),
        ChoiceRow(
            name: "a user's service has served the keychain, and the file names a socket",
            environment: ["HOME": "/h"],
            sockets: [system, "/h/.local/share/keychain/service-lock"],
            files: ["/h/.config/keychain/config.json": #"{"service": "/run/keychaind/socket"}"#],
            mode: .service(socket: system), mention: "/h/.config"),
        ChoiceRow(
            name: "a user's service has served the keychain, and no service has a socket",
            environment: ["HOME": "/h"], sockets: ["/h/.local/share/keychain/service-lock"],
            mode: .embedded, mention: "default"),
        ChoiceRow(
            name: "the folder for sockets isn't an absolute path",
            environment: ["XDG_RUNTIME_DIR": "run"], sockets: ["run/keychain/socket"],
            mode: .embedded, mention: "default"),
        // A socket left by a killed service.
        ChoiceRow(
            name: "a killed service had the keychain of this program open",
            environment: ["XDG_RUNTIME_DIR": "/run/user/1", "XDG_DATA_HOME": "/data"],
            sockets: [user], left: "/data/keychain", mode: .embedded, mention: "left its socket"),
        ChoiceRow(
            name: "a killed service had another keychain open",
            environment: ["XDG_RUNTIME_DIR": "/run/user/1", "XDG_DATA_HOME": "/data"],
            sockets: [user], left: "/other/keychain", mode: nil, mention: "/other/keychain"),
        ChoiceRow(
            name: "a service was killed, and the machine's service has another keychain",
            environment: ["XDG_RUNTIME_DIR": "/run/user/1", "XDG_DATA_HOME": "/data"],
            sockets: [user, system, "/data/keychain/service-lock"], left: "/data/keychain",
            mode: nil, mention: "keychainctl service enable"),
        ChoiceRow(
            name: "the variable names the socket of a killed service",
            environment: ["KEYCHAIN_SERVICE": user, "XDG_DATA_HOME": "/data"],
            sockets: [user], left: "/data/keychain", mode: .service(socket: user),
            mention: "KEYCHAIN_SERVICE"),
        // Nothing is configured, and no socket exists.
        ChoiceRow(name: "nothing is there", mode: .embedded, mention: "default"),
    ]

    @Test func `the keychain is chosen by the first rule that applies`() {
        var ran = 0
        for row in Self.rows {
            if let mode = row.mode {
                #expect(throws: Never.self, "\(row.name)") {
                    let choice = try row.choice()
                    #expect(choice.mode == mode, "\(row.name)")
                    #expect(choice.reason.contains(row.mention), "\(row.name): \(choice.reason)")
                }
            } else {
                let failure = #expect(throws: KeychainFailure.self, "\(row.name)") {
                    try row.choice()
                }
                #expect(failure?.status == .param, "\(row.name)")
                #expect(failure?.reason.contains(row.mention) == true, "\(row.name)")
            }
            ran += 1
        }
        #expect(ran == 34)
    }

    /// This test uses the real file system. A configuration file that can't be read, is empty or is
    /// too large causes an error, and doesn't count as missing.
    @Test
    func `a configuration file is used, or is an error if it is unreadable, empty or too large`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "choice-\(UUID().uuidString)").path(percentEncoded: false)
        try FileManager.default.createDirectory(
            atPath: folder + "/keychain", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let context = ChoiceContext(environment: [
            "XDG_CONFIG_HOME": folder, "XDG_RUNTIME_DIR": folder,
        ])
        let file = folder + "/keychain/config.json"
        func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(filePath: file))
        }
        try write(#"{"service": "/a/b"}"#)
        #expect(try KeychainChoice(context).mode == .service(socket: "/a/b"))
        try write(String(repeating: " ", count: 70_000) + "{}")
        #expect(throws: KeychainFailure.self) { try KeychainChoice(context) }
        try FileManager.default.removeItem(atPath: file)
        try write("")
        #expect(throws: KeychainFailure.self) { try KeychainChoice(context) }
        try FileManager.default.removeItem(atPath: file)
        // A folder with the file's name is an unreadable configuration file.
        try FileManager.default.createDirectory(
            atPath: file, withIntermediateDirectories: false)
        #expect(throws: KeychainFailure.self) { try KeychainChoice(context) }
        try FileManager.default.removeItem(atPath: file)
        // Any file at the socket's path counts as a socket.
        try Data().write(to: URL(filePath: folder + "/keychain/socket"))
        #expect(
            try KeychainChoice(context).mode
                == .service(socket: folder + "/keychain/socket"))
    }
}
