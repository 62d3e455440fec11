// LifeProcessTests: how a service ends, and how programs and a new service treat the socket that a
// killed service leaves.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import TestPrograms
import Testing

@testable import KeychainDaemon

/// The folders of a user whose service runs without systemd.
private final class Home {
    let folder: TemporaryFolder
    var socket: String { folder.path + "/run/keychain/socket" }

    init() throws {
        folder = try TemporaryFolder()
        for name in ["run", "data", "config"] { _ = try folder.makeFolder(name) }
    }

    private var environment: [String: String] {
        [
            "XDG_RUNTIME_DIR": folder.path + "/run", "XDG_DATA_HOME": folder.path + "/data",
            "XDG_CONFIG_HOME": folder.path + "/config", "KEYCHAIN_SERVICE": "",
            "KEYCHAIN_DIRECTORY": "", "KEYCHAIN_TPM": "none",
        ]
    }

    /// Starts the service with the default actions of SIGHUP, SIGTERM and SIGUSR1, except that it
    /// ignores `signal`. If `signal` is `nil`, the service ignores SIGPIPE.
    func service(_ arguments: String..., ignoring signal: String? = nil) throws -> TestProgram {
        let service = try TestProgram(
            path: "/usr/bin/env",
            [
                "--default-signal=HUP,TERM,USR1", "--ignore-signal=\(signal ?? "PIPE")",
                try #require(TestProgram.path(of: "keychaind")), "--log-level", "error",
            ] + arguments, environment: environment)
        try eventually("the socket is there") {
            Files.status(ofLink: socket) != nil || !service.isRunning
        }
        return service
    }

    /// Runs a program that chooses its keychain from its environment, as any program does.
    /// - Returns: The lines of the program's output.
    func use(_ words: String..., variables: [String: String] = [:]) throws -> [String] {
        try TestProgram(
            path: try #require(TestProgram.path(of: "service-peer")), ["use"] + words,
            environment: environment.merging(variables) { $1 }
        ).lines()
    }
}

@Suite(.serialized) struct `Starting and ending a service` {
    @Test(arguments: [SIGHUP, SIGTERM, SIGINT])
    func `SIGHUP, SIGTERM and SIGINT end the service without an error and remove its socket`(
        _ signal: Int32
    ) throws {
        let home = try Home()
        let service = try home.service()
        #expect(try home.use("add:n", "load:n") == ["add:n 0", "load:n x"])
        service.send(signal)
        #expect(service.endedWell)
        #expect(Files.status(ofLink: home.socket) == nil)
    }

    @Test func `a SIGHUP that was ignored at the start doesn't end the service`() throws {
        let home = try Home()
        let service = try home.service(ignoring: "HUP")
        service.send(SIGHUP)
        #expect(try home.use("add:n", "load:n") == ["add:n 0", "load:n x"])
        #expect(service.isRunning)
        service.send(SIGTERM)
        #expect(service.endedWell)
    }

    @Test func `a signal that arrives as soon as the socket exists is handled`() throws {
        for round in 0..<20 {
            let home = try Home()
            let service = try home.service()
            if round % 2 == 0 { service.send(SIGUSR1) }
            service.send([SIGHUP, SIGTERM, SIGINT][round % 3])
            #expect(service.endedWell, "round \(round)")
            #expect(Files.status(ofLink: home.socket) == nil, "round \(round)")
        }
    }
}

@Suite(.serialized) struct `A socket left by a killed service` {
    /// Starts a service, adds an item through it and kills it.
    private static func killed(_ home: Home, _ arguments: String...) throws {
        let service =
            try arguments.isEmpty
            ? home.service() : home.service("--directory", arguments[0])
        try eventually("the service answers") { Sockets.isAnsweredForTests(home.socket) }
        #expect(try home.use("add:n") == ["add:n 0"])
        service.kill()
        #expect(!service.endedWell)
        #expect(Files.status(ofLink: home.socket)?.isSocket == true)
    }

    @Test
    func `programs open the keychain of a killed service directly, and a new service can serve it`()
        throws
    {
        let home = try Home()
        try Self.killed(home)
        #expect(try home.use("load:n", "add:m") == ["load:n x", "add:m 0"])
        // The socket stays until the next service replaces it.
        #expect(Files.status(ofLink: home.socket)?.isSocket == true)
        let next = try home.service()
        try eventually("the new service answers") { Sockets.isAnsweredForTests(home.socket) }
        #expect(try home.use("load:n", "load:m") == ["load:n x", "load:m x"])
        next.send(SIGTERM)
        #expect(next.endedWell)
        #expect(Files.status(ofLink: home.socket) == nil)
    }

    @Test
    func `programs don't open their default keychain if the killed service served another one`()
        throws
    {
        let home = try Home()
        let other = home.folder.path + "/other"
        try Self.killed(home, other)
        let lines = try home.use("load:n")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("It had the keychain in \(other) open") == true, "\(lines)")
        #expect(Files.status(of: home.folder.path + "/data/keychain") == nil)
    }

    @Test func `a program configured to use the service fails if the service was killed`() throws {
        let home = try Home()
        try Self.killed(home)
        let lines = try home.use("load:n", variables: ["KEYCHAIN_SERVICE": home.socket])
        #expect(lines.count == 1)
        #expect(lines.first?.contains("with `keychainctl service enable`") == true, "\(lines)")
    }

    @Test func `a service manager's socket isn't treated as one left by a killed service`() throws {
        let home = try Home()
        try Self.killed(home)
        #expect(SocketNote(leftWith: home.socket) != nil)
        // The socket is replaced by that of a service manager whose service hasn't started yet.
        let manager = try #require(Sockets.make())
        Files.remove(home.socket)
        try #require(Sockets.bind(manager, to: home.socket))
        #expect(SocketNote(leftWith: home.socket) == nil)
        try #require(Sockets.listen(manager))
        #expect(SocketNote(leftWith: home.socket) == nil)
    }

    @Test
    func `a socket isn't stale if its lock is held, and a service waits for a program's check`()
        throws
    {
        let home = try Home()
        try Self.killed(home)
        let path = SocketNote.path(beside: home.socket)
        let starting = try #require(Files.open(path, O_RDWR))
        try #require(Files.lock(starting))
        #expect(SocketNote(leftWith: home.socket) == nil)
        starting.close()
        // A program that checks whether the socket is stale holds a shared lock on the lock file
        // for a short time.
        let looking = try #require(Files.open(path, O_RDONLY))
        try #require(Files.lock(looking.number, LOCK_SH | LOCK_NB))
        #expect(SocketNote(leftWith: home.socket) != nil)
        let isReleased = Threads.start {
            usleep(50_000)
            looking.close()
        }
        #expect(isReleased)
        let lock = try ServiceLock(path, for: "the test")
        #expect(SocketNote(leftWith: home.socket) == nil)
        lock.end()
    }
}
