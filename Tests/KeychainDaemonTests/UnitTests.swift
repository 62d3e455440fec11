// UnitTests: the systemd units permit what the service needs, and confine a compromised service.
// The tests read the units, and also use systemd-analyze if it is installed.

import Foundation
import TestPrograms
import Testing

@testable import KeychainDaemon

@Suite struct UnitTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Distribution/systemd")

    private static let analyzer = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private static func lines(_ name: String) throws -> [String] {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            .split(separator: "\n").map { String($0) }
    }

    private static func analyzed(_ arguments: String...) throws -> [String] {
        try TestProgram(path: try #require(analyzer), arguments, environment: [:]).lines()
    }

    /// The system calls that the words of a filter stand for. Groups are expanded if
    /// systemd-analyze is installed.
    private static func calls(_ words: [String]) throws -> Set<String> {
        var calls: Set<String> = []
        for word in words {
            if word.hasPrefix("@"), analyzer != nil {
                let lines = try analyzed("syscall-filter", word)
                    .map { $0.trimmingCharacters(in: .whitespaces) }
                calls.formUnion(
                    try self.calls(
                        lines.dropFirst().filter { !$0.isEmpty && !$0.hasPrefix("#") }))
            } else {
                calls.insert(word)
            }
        }
        return calls
    }

    // Attack: a service with CAP_SYS_PTRACE and the system calls of @ipc can read and write the
    // memory of root's processes.
    @Test(arguments: ["system/keychaind", "user/keychaind", "user/keychain-sync"])
    func `the unit doesn't let a compromised service inspect other processes`(_ name: String) throws
    {
        let unit = try Self.lines("\(name).service")
        #expect(!unit.contains { !$0.hasPrefix("#") && $0.contains("CAP_") })
        if name == "system/keychaind" { #expect(unit.contains("CapabilityBoundingSet=")) }
        for limit in ["MemoryMax=", "TasksMax=", "LimitNOFILE="] {
            #expect(unit.contains { $0.hasPrefix(limit) }, "\(limit)")
        }
        var allowed: Set<String> = []
        for line in unit where line.hasPrefix("SystemCallFilter=") {
            let text = line.dropFirst("SystemCallFilter=".count)
            let words = text.drop { $0 == "~" }.split(separator: " ").map { String($0) }
            if text.hasPrefix("~") {
                allowed.subtract(try Self.calls(words))
                if Self.analyzer == nil { #expect(words == ["@ipc"]) }
            } else {
                allowed.formUnion(try Self.calls(words))
            }
        }
        #expect(allowed.isSuperset(of: ["pipe", "pipe2"]))
        guard Self.analyzer != nil else {
            print("systemd-analyze isn't installed, so the test checked only the unit's lines")
            return
        }
        for call in [
            "process_vm_readv", "process_vm_writev", "ptrace", "pidfd_getfd", "bpf", "mount",
        ] {
            #expect(!allowed.contains(call), "\(call)")
        }
        for call in [
            "accept", "accept4", "socketpair", "sendmsg", "recvmsg", "poll", "epoll_wait",
            "pidfd_open", "mlock", "fsync", "fdatasync", "fcntl", "setpriority", "prctl",
            "eventfd2",
        ] {
            #expect(allowed.contains(call), "\(call)")
        }
    }

    @Test func `systemd-analyze gives the unit of the machine's service a low exposure`() throws {
        let path = Self.folder.appending(path: "system/keychaind.service").path
        guard Self.analyzer != nil else {
            let unit = try Self.lines("system/keychaind.service")
            #expect(unit.contains("ProtectSystem=strict") && unit.contains("ProtectHome=yes"))
            return
        }
        // The rest of the exposure is what the service needs: the TPM's device, and /proc, which
        // shows the systemd unit of a client.
        let overall = try #require(
            try Self.analyzed("security", "--offline=yes", "--no-pager", path)
                .first { $0.contains("Overall exposure level") })
        let level = overall.split(separator: ":").last?.split(separator: " ").first
        #expect(try #require(level.flatMap { Double($0) }) <= 1.3, "\(overall)")
    }

    @Test(arguments: ["system/keychaind.socket", "user/keychaind.socket"])
    func `systemd removes the socket's file when it stops the socket unit`(_ name: String) throws {
        #expect(try Self.lines(name).contains("RemoveOnStop=yes"))
    }

    @Test func `the relay may use the network, and uses the keychain only through the service`()
        throws
    {
        let unit = try Self.lines("user/keychain-sync.service")
        for line in [
            "ExecStart=/usr/local/bin/keychainctl sync run --no-prompt",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6", "Requires=keychaind.socket",
            "NoNewPrivileges=yes", "LimitCORE=0", "MemoryDenyWriteExecute=yes",
        ] {
            #expect(unit.contains(line), "\(line)")
        }
        // The variable names the service's socket, so the relay fails if no service answers there,
        // instead of opening the keychain itself.
        #expect(unit.contains("Environment=KEYCHAIN_SERVICE=%t/keychain/socket"))
        #expect(
            try Self.lines("user/keychaind.socket").contains("ListenStream=%t/keychain/socket"))
        // Each of these options would put the process into another mount or user namespace. The
        // service refuses a program in such a namespace.
        for option in [
            "ProtectSystem=", "ProtectHome=", "InaccessiblePaths=", "ReadOnlyPaths=",
            "ReadWritePaths=", "PrivateTmp=", "PrivateDevices=", "PrivateUsers=",
        ] {
            #expect(!unit.contains { $0.hasPrefix(option) }, "\(option)")
        }
    }

    @Test func `the unit of dedicated sockets uses the names that the service expects`() throws {
        let unit = try Self.lines("system/keychaind-own@.socket")
        #expect(unit.contains("FileDescriptorName=\(ServiceManager.ownSocketPrefix)%i"))
        #expect(unit.contains("Service=keychaind.service"))
        #expect(unit.contains("DirectoryMode=0700") && unit.contains("SocketMode=0666"))
        #expect(unit.contains("RemoveOnStop=yes"))
    }
}
