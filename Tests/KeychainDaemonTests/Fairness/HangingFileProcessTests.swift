// HangingFileProcessTests: programs whose executables can't be read because their file system
// doesn't respond.

import Dispatch
import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import KeychainWire
import Synchronization
import TestPrograms
import Testing

@testable import KeychainDaemon

@Suite struct `A file that hangs` {
    @Test
    func `a program whose executable can't be read in time is refused, and delays no other caller`()
        throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/run/socket"
        let socket = try ListeningSocket(at: path, isForEverybody: false)
        defer { socket.close() }
        let workers = Workers(count: 1)
        let gate = DispatchSemaphore(value: 0)
        let isHanging = Mutex(true)
        let peers = Mutex(0)
        let refusals = Mutex<[PeerRefusal]>([])
        var rules = Acceptor.Rules(
            accepts: { _ in true }, timeLimit: .seconds(1), handshakesPerUser: 100,
            untakenPerUser: 100)
        rules.identify = { process, identification throws(PeerRefusal) in
            if isHanging.withLock({ $0 }) { gate.wait() }
            return try Identity(of: process, by: identification)
        }
        let acceptor = try Acceptor(
            socket.descriptor.number, rules, run: { workers.identify(for: $0, $1) },
            onPeer: { _, _ in peers.withLock { $0 += 1 } },
            onRefusal: { refusal, user in
                #expect(user == geteuid())
                refusals.withLock { $0.append(refusal) }
            })
        try acceptor.start()
        let hung = try RawClient(path, isAnswering: false)
        try eventually("the caller is refused") { refusals.withLock { !$0.isEmpty } }
        #expect(refusals.withLock { $0 } == [.slowFile(pid: getpid())])
        #expect(try hung.reply().kind == .failure)
        // All callers belong to this process. At most two threads identify the callers of one
        // process, and one of these threads is still blocked.
        isHanging.withLock { $0 = false }
        _ = try RawClient(path)
        try eventually("another caller is identified") { peers.withLock { $0 == 1 } }
        gate.signal()
        // The late result is discarded, not attributed to another connection.
        _ = try RawClient(path)
        try eventually("a third caller is identified") { peers.withLock { $0 == 2 } }
        acceptor.stop()
        workers.stop()
    }

    @Test func `a program whose digest takes too long is refused, and its connection is freed`()
        throws
    {
        let service = try TestService { $0.limits.rightsTime = .milliseconds(10) }
        let large = service.folder.path + "/large"
        try FileManager.default.copyItem(
            atPath: try #require(TestProgram.path(of: "service-peer")), toPath: large)
        try #require(unsafe truncate(large, off_t(Executable.largestDigested)) == 0)
        _ = try RegistryFolder(path: service.folder.path + "/programs").put(
            .executable(large), sha256: String(repeating: "0", count: 64),
            list: Entitlements.propertyList(groups: ["large"]))
        let input = Pipe()
        let process = try peer("stay", service.configuration.socket, as: large, input: input)
        try eventually("the program is refused") {
            service.log.all.contains { $0.contains("define its rights can't be read in time") }
        }
        try eventually("its connection is freed") { service.server.connectionCount == 0 }
        process.kill()
        try input.fileHandleForWriting.close()
    }

    @Test(.enabled(if: HangingFolder.isPossible, "needs root and /dev/fuse"))
    func `programs on a hanging FUSE file system don't slow down honest programs`() throws {
        let service = try AttackedService()
        let hanging = try HangingFolder(
            in: service.folder, with: try #require(TestProgram.path(of: "service-peer")))
        let alone = Figures(lookUpsIn: service)
        let attackers = try Attackers("knock", service, processes: 5, as: hanging.file)
        hanging.stop()
        try eventually("a program is refused") {
            try service.log().contains { $0.contains("can't be read in time") }
        }
        let attacked = Figures(lookUpsIn: service)
        attacked.report("5 programs on a file system that hangs", alone: alone)
        attacked.expectFair()
        hanging.end()
        try attackers.stop()
        service.end()
    }
}

/// A folder with one file on a FUSE file system. A separate process serves the file system, and
/// stops responding when the test says so.
private final class HangingFolder {
    static let isPossible =
        geteuid() == 0 && FileManager.default.isWritableFile(atPath: "/dev/fuse")

    let file: String
    private let folder: String
    private let program: TestProgram

    init(in parent: TemporaryFolder, with content: String) throws {
        folder = try parent.makeFolder("hanging", mode: 0o755)
        file = folder + "/file"
        let script = try parent.put(Self.script, "hanging.py")
        program = try TestProgram(
            path: "/usr/bin/env", ["python3", script, folder, content], environment: [:])
        try #require(program.line() == "mounted")
    }

    /// Stops answering requests for file attributes, so that the service blocks. Content can still
    /// be read.
    func stop() { program.send(SIGUSR1) }

    /// Ends the file system. Blocked calls fail.
    func end() {
        program.kill()
        let umount = Process()
        umount.executableURL = URL(filePath: "/bin/umount")
        umount.arguments = ["--lazy", folder]
        try? umount.run()
        umount.waitUntilExit()
    }

    deinit { end() }

    /// A FUSE server, protocol version 7.31, for a folder (node 1) with an executable (node 2).
    private static let script = #"""
        import ctypes, os, signal, struct, sys

        folder, content = sys.argv[1], open(sys.argv[2], "rb").read()
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"hanging", folder.encode(), b"fuse.hanging", 6, options) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))
        print("mounted", flush=True)

        def attributes(node):
            mode, size = (0o40755, 0) if node == 1 else (0o100755, len(content))
            return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

        stops = []
        signal.signal(signal.SIGUSR1, lambda *_: stops.append(True))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        # All timeouts are zero, so that the kernel caches nothing and sends each request here.
        while True:
            request = os.read(device, 1 << 20)
            _, operation, unique, node = struct.unpack_from("<IIQQ", request)
            body, error, answer = request[40:], 0, b""
            if operation == 26:
                answer = struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 8, 8, 4096, 1, 1, 0, *[0] * 8)
            elif operation == 1 and body.rstrip(b"\0") == b"file":
                answer = struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2)
            elif operation == 1:
                error = -2
            elif operation == 3 and stops:
                continue
            elif operation == 3:
                answer = struct.pack("<Q2I", 0, 0, 0) + attributes(node)
            elif operation in (14, 27):
                answer = struct.pack("<Q2I", 0, 2, 0)
            elif operation == 15:
                offset, size = struct.unpack_from("<QI", body, 8)
                answer = content[offset : offset + size]
            elif operation in (2, 42):
                continue
            elif operation not in (18, 25, 29, 34):
                error = -38
            os.write(device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)
        """#
}
