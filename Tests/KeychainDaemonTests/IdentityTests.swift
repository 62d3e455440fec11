import Foundation
import Glibc
import KeychainCrypto
import KeychainCore
import TestPrograms
import Testing

@testable import KeychainDaemon

/// A listening socket whose connections the test accepts.
private final class Door {
    let folder: TemporaryFolder
    let socket: ListeningSocket
    var path: String { folder.path + "/run/socket" }

    init() throws {
        folder = try TemporaryFolder()
        socket = try ListeningSocket(at: folder.path + "/run/socket", isForEverybody: false)
    }

    deinit { socket.close() }

    func accept() throws -> OwnedDescriptor {
        var accepted: OwnedDescriptor?
        try eventually("a process connects") {
            accepted = Sockets.accept(socket.descriptor.number)
            return accepted != nil
        }
        return try #require(accepted)
    }

    /// Completes the handshake.
    func peer(of handshake: inout PeerHandshake) throws -> Peer {
        var peer: Peer?
        try eventually("the handshake ends") {
            peer = try handshake.proceed()
            return peer != nil
        }
        return try #require(peer)
    }
}

extension PeerHandshake {
    /// Starts a handshake and sends the challenge.
    fileprivate init(
        asking first: OwnedDescriptor, accepting isAccepted: (uid_t) -> Bool
    ) throws(PeerRefusal) {
        try self.init(first, accepting: isAccepted)
        _ = try take(Identity(of: process, by: identification))
    }

    fileprivate mutating func proceed() throws(PeerRefusal) -> Peer? {
        try receive()
        return step == .answer ? nil : try take(Identity(of: process, by: identification))
    }
}

private func executable(of pid: Int32) -> String? { Files.target(ofLink: "/proc/\(pid)/exe") }

@Suite struct IdentityTests {
    @Test func `a peer is identified as the process that connected and the program that it runs`()
        throws
    {
        let door = try Door()
        let input = Pipe()
        let process = try peer("stay", door.path, input: input)
        var handshake = try PeerHandshake(asking: door.accept(), accepting: { $0 == geteuid() })
        let found = try door.peer(of: &handshake)
        #expect(found.pid == process.processIdentifier)
        #expect(found.uid == geteuid())
        guard case .program(let executable) = found.identity else {
            Issue.record("another identity")
            return
        }
        #expect(
            executable.path
                == URL(filePath: try #require(TestProgram.path(of: "service-peer")))
                .resolvingSymlinksInPath().path)
        #expect(executable.digest()?.count == 32)
        try input.fileHandleForWriting.close()
        #expect(process.endedWell)
    }

    @Test
    func `a process that passes its connection to a child and runs another program is refused`()
        throws
    {
        let door = try Door()
        let other = try PeerCopy()
        let input = Pipe()
        let process = try peer("leave", door.path, other.path, input: input)
        let pid = process.processIdentifier
        try eventually("the process becomes another program") { executable(of: pid) == other.path }
        // The kernel reports the process, which now runs the other program, as the peer. The child
        // holds the socket.
        var handshake = try PeerHandshake(asking: door.accept(), accepting: { _ in true })
        #expect(handshake.process.pid == pid)
        do {
            _ = try door.peer(of: &handshake)
            Issue.record("accepted")
        } catch PeerRefusal.otherSender(let owner, let sender) {
            #expect(owner == pid)
            #expect(sender != pid && sender > 0)
        }
        process.kill()
        try input.fileHandleForWriting.close()
    }

    @Test func `a process that runs another program after it answered the challenge is refused`()
        throws
    {
        let door = try Door()
        let other = try PeerCopy()
        let input = Pipe()
        let process = try peer("become", door.path, other.path, input: input)
        let pid = process.processIdentifier
        var handshake = try PeerHandshake(asking: door.accept(), accepting: { _ in true })
        try eventually("the process becomes another program") { executable(of: pid) == other.path }
        #expect(
            throws: PeerRefusal.changedExecutable(
                pid: pid,
                first: try #require(TestProgram.path(of: "service-peer")), second: other.path)
        ) {
            _ = try handshake.proceed()
        }
        process.kill()
        try input.fileHandleForWriting.close()
    }

    // Attack: a trusted program is started with the connection as its standard output, so that it
    // writes the answer.
    @Test func `a program with the connection as its output can't be made to answer the challenge`()
        throws
    {
        let door = try Door()
        let other = try PeerCopy()
        let process = try peer("write-to", door.path, other.path)
        let pid = process.processIdentifier
        try eventually("the process becomes another program") { executable(of: pid) == other.path }
        var handshake = try PeerHandshake(asking: door.accept(), accepting: { _ in true })
        #expect(handshake.process.pid == pid)
        do {
            _ = try door.peer(of: &handshake)
            Issue.record("accepted")
        } catch PeerRefusal.otherSender(let owner, let sender) {
            // The sender is the child of the process. The child answered after the program had
            // copied all its input to the connection and ended.
            #expect(owner == pid)
            #expect(sender != pid && sender > 0)
        }
        _ = process.lines()
    }

    // Attack: the trusted program's standard output is the socket that the service passes to the
    // client. The service creates that socket only after it has read the executable.
    @Test func `a process that runs another program with the new socket as its output is refused`()
        throws
    {
        let door = try Door()
        let other = try PeerCopy()
        let input = Pipe()
        let process = try peer("lend", door.path, other.path, input: input)
        let pid = process.processIdentifier
        var handshake = try PeerHandshake(asking: door.accept(), accepting: { _ in true })
        do {
            _ = try door.peer(of: &handshake)
            Issue.record("accepted")
        } catch PeerRefusal.changedExecutable(let changed, _, let second) {
            #expect(changed == pid && second == other.path)
        } catch PeerRefusal.endedProcess(let ended) {
            // The process wrote and exited before its identity was read again.
            #expect(ended == pid)
        } catch PeerRefusal.unreadableExecutable(let ending, _) {
            // The process exited while its identity was read again.
            #expect(ending == pid)
        }
        _ = process.lines()
    }

    @Test func `a process that has exited is refused`() throws {
        let door = try Door()
        let process = try peer("vanish", door.path)
        #expect(process.endedWell)
        let socket = try door.accept()
        #expect(throws: PeerRefusal.self) {
            _ = try PeerHandshake(asking: socket, accepting: { _ in true })
        }
    }

    @Test func `a process whose executable was deleted is refused`() throws {
        let door = try Door()
        let copy = try PeerCopy()
        let input = Pipe()
        let process = try peer("become", door.path, "/bin/true", as: copy.path, input: input)
        let socket = try door.accept()
        try FileManager.default.removeItem(atPath: copy.path)
        do {
            _ = try PeerHandshake(asking: socket, accepting: { _ in true })
            Issue.record("accepted")
        } catch .replacedExecutable(let pid, _) {
            #expect(pid == process.processIdentifier)
        }
        process.kill()
    }

    @Test func `another user's process is refused before anything is sent to it`() throws {
        let door = try Door()
        let process = try peer("become", door.path, "/bin/true")
        let socket = try door.accept()
        #expect(throws: PeerRefusal.otherUser(uid: geteuid())) {
            _ = try PeerHandshake(socket, accepting: { _ in false })
        }
        socket.close()
        // The client waits for the challenge and gets the end of the stream instead.
        #expect(process.lines() == ["connected", "failed: Failure()"])
    }

    @Test func `a wrong answer to the challenge is refused`() throws {
        let door = try Door()
        let client = try RawClient(door.path, isAnswering: false)
        var handshake = try PeerHandshake(asking: door.accept(), accepting: { _ in true })
        _ = try client.question()
        try client.send([UInt8](repeating: 7, count: 24))
        #expect(throws: PeerRefusal.wrongNonce(pid: getpid())) { try door.peer(of: &handshake) }
    }

    @Test func `a pidfd opened from a process id shows whether that process still runs`() throws {
        let input = Pipe()
        let process = try peer("wait", input: input)
        let pin = try #require(Processes.pin(process.processIdentifier))
        #expect(Processes.isRunning(pin))
        try input.fileHandleForWriting.close()
        #expect(process.endedWell)
        #expect(!Processes.isRunning(pin))
        let later = Processes.pin(process.processIdentifier)
        let code = errno
        #expect(later == nil)
        #expect(code == ESRCH)
    }

    // EMFILE: no descriptors are left. ENOSYS: the kernel is older than 5.3.
    @Test(arguments: [EMFILE, ENFILE, ENOSYS, ESRCH])
    func `only a process that doesn't exist any more is refused as ended`(_ code: Int32) throws {
        let (socket, other) = try #require(UnixSockets.pair())
        defer { other.close() }
        let refusal = #expect(throws: PeerRefusal.self) {
            _ = try PinnedProcess(of: socket) { _, _ in
                errno = code
                return nil
            }
        }
        let expected =
            code == ESRCH
            ? PeerRefusal.endedProcess(pid: getpid())
            : PeerRefusal.unavailable(pid: getpid(), reason: errorText(code))
        #expect(refusal == expected)
    }
}
