// ProcessTests: the service as a separate process that is started, killed and restarted, and
// whether other programs of the user can read the memory of a tool's process.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import TestPrograms
import Testing

@testable import KeychainDaemon

private let own = AccessGroups(["default"])

/// Runs eight programs that write until the service ends.
/// - Returns: The accounts whose addition was acknowledged.
private func acknowledgedWrites(
    _ service: ServiceProcess, atLeast wanted: Int, signal: Int32
) throws -> [String] {
    let writers = try (0..<8).map { try peer("write", service.socket, "\($0)") }
    var acknowledged: [String] = []
    // The service is ended after each program has made some writes, while the programs make further
    // writes.
    for writer in writers {
        for _ in 0..<wanted { acknowledged.append(try #require(writer.line())) }
    }
    service.kill(signal)
    for writer in writers {
        acknowledged += writer.lines().filter { !$0.hasPrefix("ended") }
        #expect(writer.endedWell)
    }
    service.waitForEnd()
    return acknowledged
}

private func expectAll(_ accounts: [String], in folder: TemporaryFolder) throws {
    let engine = try KeychainEngine.open(directory: folder.path + "/keychain", options: .testing)
    defer { engine.close() }
    var missing = 0
    for account in accounts {
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string("fault"), .account: .string(account)])
        let found = try? engine.perform(FindItems(query, Retrieval(includesData: true)), as: own)
        if found?.first?.data != Data(account.utf8) { missing += 1 }
    }
    #expect(missing == 0, "of \(accounts.count)")
    #expect(try engine.check().isSound)
}

@Suite(.serialized) struct ProcessTests {
    @Test func `acknowledged writes survive a kill of the service`() throws {
        let folder = try TemporaryFolder()
        var acknowledged: [String] = []
        for _ in 0..<3 {
            let service = try ServiceProcess(in: folder)
            let more = try acknowledgedWrites(service, atLeast: 5, signal: SIGKILL)
            acknowledged += more
            // The next round adds the same accounts again, so they are checked and deleted here.
            try expectAll(acknowledged, in: folder)
            try Self.empty(folder)
            acknowledged = []
        }
    }

    @Test
    func `keys are rotated while eight programs write through the service, and no write is lost`()
        throws
    {
        let folder = try TemporaryFolder()
        let service = try ServiceProcess(in: folder)
        let client = ServiceClient(socketPath: service.socket)
        let passcode = SecretBytes(copying: Array("passcode".utf8))
        _ = try client.perform(AddItem(password("first")), as: own)
        // The test's process also opens the keychain without the service.
        let embedded = try KeychainEngine.open(
            directory: folder.path + "/keychain", options: .testing)
        defer { embedded.close() }
        #expect(try embedded.load("first", as: own) == "first")
        let writers = try (0..<8).map { try peer("write", service.socket, "\($0)") }
        var acknowledged: [String] = []
        // Waits for five further writes of each program.
        func takeWrites() throws {
            for writer in writers {
                for _ in 0..<5 { acknowledged.append(try #require(writer.line())) }
            }
            #expect(try client.load("first", as: own) == "first")
        }
        try takeWrites()
        #expect(try client.perform(RotateKeys()).isEmpty)
        try takeWrites()
        #expect(try embedded.load("first", as: own) == "first")
        _ = try client.perform(SetPasscode(passcode, allowsWeak: true))
        try takeWrites()
        do {
            _ = try embedded.load("first", as: own)
            Issue.record("the process read an item without unlocking the keychain")
        } catch let refusal {
            #expect(refusal.status == .interactionNotAllowed)
            #expect(refusal.reason.contains("Another process rotated the keychain's keys"))
        }
        try embedded.unlock(passcode: passcode)
        #expect(try client.perform(RotateKeys(provedBy: .passcode(passcode))).isEmpty)
        try takeWrites()
        #expect(status { _ = try embedded.load("first", as: own) } == .interactionNotAllowed)
        try embedded.unlock(passcode: passcode)
        #expect(try embedded.load("first", as: own) == "first")
        service.kill(SIGTERM)
        for writer in writers {
            acknowledged += writer.lines().filter { !$0.hasPrefix("ended") }
            #expect(writer.endedWell)
        }
        #expect(service.endedWell)
        #expect(Set(acknowledged).count == acknowledged.count)
        var missing = 0
        for account in acknowledged {
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string("fault"), .account: .string(account)])
            let found = try? embedded.perform(
                FindItems(query, Retrieval(includesData: true)), as: own)
            if found?.first?.data != Data(account.utf8) { missing += 1 }
        }
        #expect(missing == 0, "of \(acknowledged.count)")
        #expect(try embedded.check().isSound)
    }

    /// Deletes the writers' items, so that the writers can add the same items again.
    private static func empty(_ folder: TemporaryFolder) throws {
        let engine = try KeychainEngine.open(
            directory: folder.path + "/keychain", options: .testing)
        _ = try engine.perform(
            DeleteItems(
                ItemQuery(itemClass: .genericPassword, attributes: [.service: .string("fault")]),
                tombstones: .never), as: own)
        engine.close()
    }

    @Test func `a service that ends on SIGTERM loses no acknowledged write and removes its socket`()
        throws
    {
        let folder = try TemporaryFolder()
        let service = try ServiceProcess(in: folder)
        let acknowledged = try acknowledgedWrites(service, atLeast: 5, signal: SIGTERM)
        #expect(service.endedWell)
        #expect(acknowledged.count >= 40)
        #expect(Files.status(ofLink: service.socket) == nil)
        try expectAll(acknowledged, in: folder)
    }

    @Test func `a program that uses the service has none of the keychain's files open`()
        throws
    {
        let folder = try TemporaryFolder()
        let service = try ServiceProcess(in: folder)
        let writer = try peer("write", service.socket, "0")
        // The first write is done, and the program continues.
        let account = try #require(writer.line())
        let keychain = folder.path + "/keychain/"
        #expect(!(try openFiles(of: writer.processIdentifier)).contains { $0.hasPrefix(keychain) })
        #expect(try hasLock(service.processIdentifier, on: keychain + "in-use"))
        service.kill(SIGTERM)
        #expect(service.endedWell)
        #expect(writer.lines().last?.hasPrefix("ended") == true)
        try expectAll([account], in: folder)
    }

    /// The paths of a process's open files, and the kernel's names of its open sockets and pipes.
    private func openFiles(of process: Int32) throws -> [String] {
        let folder = "/proc/\(process)/fd"
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: folder).compactMap {
            try? files.destinationOfSymbolicLink(atPath: folder + "/" + $0)
        }
    }

    /// Whether a process holds a lock on a file, according to `/proc/locks`. The service's open
    /// files can't be listed instead: the service can't be traced, so only root could list them.
    private func hasLock(_ process: Int32, on path: String) throws -> Bool {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let inode = try #require(attributes[.systemFileNumber] as? NSNumber)
        let locks = try #require(FileHandle(forReadingAtPath: "/proc/locks"))
        let text = String(decoding: try locks.readToEnd() ?? Data(), as: UTF8.self)
        return text.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            return fields.contains("\(process)")
                && fields.contains { $0.hasSuffix(":\(inode)") }
        }
    }

    @Test func `a second service on the same socket fails with an error`() throws {
        let folder = try TemporaryFolder()
        let service = try ServiceProcess(in: folder)
        let path = try #require(TestProgram.path(of: "keychaind"))
        let second = try TestProgram(
            path: path,
            ["--directory", folder.path + "/other", "--socket", service.socket], environment: [:])
        #expect(!second.endedWell)
        #expect(try ServiceClient(socketPath: service.socket).perform(HasPasscode()) == false)
        service.kill(SIGTERM)
        #expect(service.endedWell)
    }

    @Test func `SIGUSR1 locks the keychain`() throws {
        let folder = try TemporaryFolder()
        let service = try ServiceProcess(in: folder)
        let client = ServiceClient(socketPath: service.socket)
        let passcode = SecretBytes(copying: Array("passcode".utf8))
        try client.perform(SetPasscode(passcode, allowsWeak: true))
        #expect(try client.perform(ReadStatus()).lockState == .unlocked)
        service.kill(SIGUSR1)
        try eventually("the keychain is locked") {
            try client.perform(ReadStatus()).lockState == .locked
        }
        service.kill(SIGINT)
        #expect(service.endedWell)
    }

    @Test func `a socket-activated service notifies the service manager when it is ready`() throws {
        let folder = try TemporaryFolder()
        let socket = folder.path + "/socket"
        let notices = folder.path + "/notices"
        let manager = try DatagramSocket(notices)
        let program = try TestProgram(
            path: try #require(TestProgram.path(of: "service-peer")),
            [
                "activate", socket, try #require(TestProgram.path(of: "keychaind")), "--directory",
                folder.path + "/keychain", "--socket", folder.path + "/unused", "--registry",
                folder.path + "/programs", "--log-level", "warning",
            ], environment: ["NOTIFY_SOCKET": notices])
        #expect(try manager.text() == "READY=1\nSTATUS=Ready")
        #expect(try ServiceClient(socketPath: socket).perform(HasPasscode()) == false)
        #expect(Files.status(ofLink: folder.path + "/unused") == nil)
        program.send(SIGTERM)
        #expect(try manager.text() == "STOPPING=1\nSTATUS=Ending")
        #expect(program.endedWell)
        #expect(Files.status(ofLink: socket)?.isSocket == true)
    }
}

/// Receives the notifications that services send to a service manager.
final class DatagramSocket {
    private let descriptor: OwnedDescriptor

    init(_ path: String) throws {
        descriptor = OwnedDescriptor(socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
        try #require(Sockets.bind(descriptor, to: path))
    }

    func text() throws -> String {
        var poll = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        // SAFETY: the structure is used within the call.
        try #require(unsafe Glibc.poll(&poll, 1, 60_000) == 1)
        let bytes = try [UInt8](readingFrom: descriptor.number, atMost: 4096)
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: - Memory

@Suite struct `The memory of a process` {
    @Test
    func `the user's other processes can't read a tool's memory once it has handled a secret`()
        throws
    {
        #expect(
            try peer("keep").lines() == [
                "began true", "applied false", "connecting true", "connected false",
                "holding false", "connecting again false",
            ])
    }
}
