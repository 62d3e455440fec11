import FaultSweeps
import Foundation
import KeychainRuntime
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainWire
import Synchronization
import TestPrograms
import Testing

@testable import KeychainDaemon

private let passcode = SecretBytes(copying: Array("passcode".utf8))
private let own = AccessGroups(["default"])

@Suite struct ServiceTests {
    @Test func `items can be added, read, changed and deleted, and outlive the service`() throws {
        let service = try TestService()
        let client = service.client()
        #expect(try client.welcome().kind == .user)
        #expect(try client.welcome().entitlements.accessGroups == own)
        let added = try client.perform(AddItem(password("a", "one")), as: own)
        #expect(added.data == Data("one".utf8))
        #expect(try client.load("a", as: own) == "one")
        #expect(
            try client.perform(
                UpdateItems(passwordQuery("a"), ItemChanges(data: Data([0]))), as: own) == 1)
        service.stop()

        let again = try TestService(folder: service.folder)
        #expect(try again.client().load("a", as: own) == "\0")
        #expect(
            try again.client().perform(
                DeleteItems(passwordQuery("a"), tombstones: .automatic), as: own) == 1)
        #expect(try again.client().load("a", as: own) == nil)
    }

    @Test func `programs have the access groups that their executables are entitled to`() throws {
        let service = try TestService()
        let app = try PeerCopy()
        try app.entitle("app", "shared", in: service.folder)
        let widget = try PeerCopy()
        try widget.entitle("widget", "shared", in: service.folder)
        let stranger = try PeerCopy()
        let socket = service.configuration.socket
        #expect(
            try peer("ask", socket, "app", "shared", "widget", as: app.path).lines() == [
                "groups app shared", "add app 0", "add shared 0", "add widget -34018",
                "sees app shared",
            ])
        #expect(
            try peer("ask", socket, "app", "widget", as: widget.path).lines() == [
                "groups widget shared", "add app -34018", "add widget 0", "sees shared widget",
            ])
        #expect(
            try peer("ask", socket, "shared", as: stranger.path).lines() == [
                "groups default", "add shared -34018", "sees -25300",
            ])
    }

    @Test func `a put without a group changes only the item in the caller's first group`() throws {
        let folder = try TemporaryFolder()
        try TestService.entitle("app", "shared", in: folder)
        let service = try TestService(folder: folder)
        let client = service.client()
        for (claim, changed) in [(["app", "shared"], "app"), (["shared", "app"], "shared")] {
            for group in ["app", "shared"] {
                try client.perform(
                    PutItem(
                        password("a", "old", in: group), orChange: passwordQuery("a", in: group),
                        ItemChanges(data: Data("old".utf8))), as: AccessGroups(claim))
            }
            try client.perform(
                PutItem(
                    password("a", "new"), orChange: passwordQuery("a"),
                    ItemChanges(data: Data("new".utf8))), as: AccessGroups(claim))
            for group in ["app", "shared"] {
                #expect(
                    try client.load("a", as: AccessGroups([group]))
                        == (group == changed ? "new" : "old"))
            }
        }
    }

    @Test
    func `a program that passes its connection to a child and runs a trusted program is refused`()
        throws
    {
        let service = try TestService(isStarted: false)
        let trusted = try PeerCopy()
        try trusted.entitle("secret", in: service.folder)
        let input = Pipe()
        // The connection is accepted only after the process has become the trusted program.
        let process = try peer("leave", service.configuration.socket, trusted.path, input: input)
        let link = "/proc/\(process.processIdentifier)/exe"
        try eventually("the process becomes the trusted program") {
            Files.target(ofLink: link) == trusted.path
        }
        try service.server.start()
        let start =
            "warning refused reason=\"process \(process.processIdentifier) connected, and process "
        try eventually("the service refuses") {
            service.log.all.contains { $0.hasPrefix(start) && $0.hasSuffix(" answered\"\n") }
        }
        #expect(service.server.connectionCount == 0)
        process.kill()
        try input.fileHandleForWriting.close()
    }

    @Test func `the error for a program without rights states the reason`() throws {
        let service = try TestService { $0.isRegistryOnly = true }
        let lines = try peer("ask", service.configuration.socket).lines()
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("welcome -34018 ") == true)
        #expect(lines.first?.contains("doesn't name it") == true)
        #expect(service.log.all.contains { $0.hasPrefix("warning no access ") })
    }

    @Test func `a program that isn't dumpable can be identified`() throws {
        let service = try TestService()
        #expect(
            try peer("hide", service.configuration.socket).lines() == [
                "groups default", "sees -25300",
            ])
    }

    @Test func `clients are notified of other clients' changes`() throws {
        let service = try TestService()
        let writer = service.client()
        let follower = service.client()
        let count = Mutex(0)
        let subscription = try follower.subscribe { count.withLock { $0 += 1 } }
        _ = try writer.perform(AddItem(password("a")), as: own)
        try eventually("the follower is told") { count.withLock { $0 } > 0 }
        subscription.end()
    }

    @Test func `a lock applies to all clients, and they are notified of it`() throws {
        let service = try TestService()
        let one = service.client()
        let other = service.client()
        try one.perform(SetPasscode(passcode, allowsWeak: true))
        var item = password("a")
        item.protection = .whenUnlocked
        _ = try one.perform(AddItem(item), as: own)
        let count = Mutex(0)
        let subscription = try other.subscribe { count.withLock { $0 += 1 } }
        try one.perform(Lock())
        try eventually("the other client is notified of the lock") { count.withLock { $0 } > 0 }
        #expect(status { _ = try other.load("a", as: own) } == .interactionNotAllowed)
        #expect(
            status { try other.perform(Unlock(passcode: SecretBytes(copying: [1]))) } == .authFailed
        )
        try other.perform(Unlock(passcode: passcode))
        #expect(try one.load("a", as: own) == "a")
        subscription.end()
        service.stop()

        // Starting the service doesn't unlock the keychain.
        let again = try TestService(folder: service.folder)
        #expect(try again.client().perform(ReadStatus()).lockState == .beforeFirstUnlock)
        #expect(status { _ = try again.client().load("a", as: own) } == .interactionNotAllowed)
    }

    @Test func `an unused keychain is locked after the configured time`() throws {
        let service = try TestService { $0.lockAfter = .milliseconds(200) }
        let client = service.client()
        try client.perform(SetPasscode(passcode, allowsWeak: true))
        try eventually("the keychain is locked") {
            try client.perform(ReadStatus()).lockState == .locked
        }
        try client.perform(Unlock(passcode: passcode))
        try eventually("the keychain is locked again") {
            try client.perform(ReadStatus()).lockState == .locked
        }
        #expect(service.log.all.contains { $0.hasPrefix("notice locked after inactivity") })
    }

    @Test func `locking all keychains at once is logged with their number`() throws {
        let service = try TestService()
        service.server.lock()
        try service.client().perform(SetPasscode(passcode, allowsWeak: true))
        service.server.lock()
        #expect(
            service.log.all.filter { $0.hasPrefix("notice locked on request") } == [
                "notice locked on request: 0 keychains\n", "notice locked on request: 1 keychain\n",
            ])
    }

    @Test func `a keychain that was used recently stays unlocked`() throws {
        let keychain = ServedKeychain(
            directory: try TemporaryFolder().path + "/keychain", options: .testing)
        try keychain.engine().perform(SetPasscode(passcode, allowsWeak: true))
        keychain.noteUse()
        #expect(!keychain.lock(ifUnusedFor: .seconds(3600)))
        #expect(try keychain.engine().lockState == .unlocked)
        #expect(keychain.lock(ifUnusedFor: .zero))
        #expect(try keychain.engine().lockState == .locked)
        // A locked keychain isn't locked again.
        #expect(!keychain.lock(ifUnusedFor: nil))
        keychain.close()
    }

    @Test
    func `a change that may seal a secret for a when-unlocked class counts as use of the keychain`()
    {
        func counts(_ changes: ItemChanges, _ protection: ProtectionClass? = nil) -> Bool {
            let query = ItemQuery(itemClass: .genericPassword, protection: protection)
            return UpdateItems(query, changes).usedUnlockedKeys(1)
        }
        let secret = Data([1])
        #expect(counts(ItemChanges(data: secret)))
        #expect(counts(ItemChanges(data: secret), .whenUnlocked))
        #expect(counts(ItemChanges(protection: .whenUnlocked), .afterFirstUnlock))
        #expect(counts(ItemChanges(constraints: .userPresence), .whenUnlockedThisDeviceOnly))
        #expect(!counts(ItemChanges(data: secret), .afterFirstUnlock))
        #expect(!counts(ItemChanges(protection: .afterFirstUnlock, data: secret)))
        #expect(!counts(ItemChanges(attributes: [.label: .string("l")])))

        let identities = IdentityQuery(
            certificate: ItemQuery(itemClass: .certificate), key: ItemQuery(itemClass: .key))
        let rows: [(ProtectionClass, Bool)] = [(.whenUnlocked, true), (.always, false)]
        for (protection, isUse) in rows {
            let changes = ItemChanges(protection: protection)
            #expect(
                UpdateIdentities(identities, IdentityChanges(certificate: changes, key: changes))
                    .usedUnlockedKeys(1) == isUse)
        }
    }

    @Test func `restoring a secret of a when-unlocked class counts as use of the keychain`() {
        let request = RestoreVersion(ItemQuery(itemClass: .genericPassword), number: 1)
        for protection in ProtectionClass.allCases {
            for hasData in [true, false] {
                let item = ItemSnapshot(
                    itemClass: .genericPassword, reference: .random(), attributes: [:],
                    accessGroup: "default", protection: protection, isSynchronizable: false,
                    isTombstone: false, hasData: hasData)
                #expect(
                    request.usedUnlockedKeys(item)
                        == (hasData && protection.availability == .whileUnlocked))
            }
        }
    }

    @Test func `a client can check the keychain and read its status through the service`() throws {
        let service = try TestService()
        let client = service.client()
        _ = try client.perform(AddItem(password("a")), as: own)
        #expect(try client.perform(ReadStatus()).itemCount == 1)
        #expect(try client.perform(CheckKeychain()).isSound)
        #expect(try client.perform(HasSecureEnclave()) == false)
        #expect(try client.perform(HasPasscode()) == false)
    }

    @Test func `an answer of several megabytes arrives complete`() throws {
        let service = try TestService()
        let client = service.client()
        for number in 0..<40 {
            var item = password("\(number)")
            item.data = Data(repeating: UInt8(number), count: 100_000)
            _ = try client.perform(AddItem(item), as: own)
        }
        let found = try client.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword), Retrieval(limit: nil, includesData: true)),
            as: own)
        #expect(found.count == 40)
        #expect(
            found.enumerated().allSatisfy {
                $1.data == Data(repeating: UInt8($0), count: 100_000)
            })
    }
}

@Suite struct SystemServiceTests {
    @Test func `every user has a separate keychain, and can be restricted to some groups in it`()
        throws
    {
        let folder = try TemporaryFolder()
        try TestService.entitle(.user(geteuid()), ["a"], in: folder)
        let service = try TestService(folder: folder) {
            $0.kind = .system
            $0.isRegistryOnly = true
            // Everybody may enter the folder of the socket.
            $0.socket = folder.path + "/everybody/socket"
        }
        let client = service.client()
        let caller = AccessGroups(["a"])
        #expect(try client.welcome().kind == .system)
        _ = try client.perform(AddItem(password("x")), as: caller)
        let keychain = service.configuration.directory + "/\(geteuid())"
        #expect(FileManager.default.fileExists(atPath: keychain + "/keychain.db"))
        let mode = Files.status(of: service.configuration.socket)?.mode
        #expect(mode.map { $0 & 0o777 } == 0o666)

        // Requests that require all groups are refused to a user with only one.
        #expect(try client.welcome().allowsAdministration == false)
        #expect(
            status { try client.perform(SetPasscode(passcode, allowsWeak: true)) }
                == .missingEntitlement)
        #expect(status { _ = try client.perform(ReadStatus()) } == .missingEntitlement)
        // The rights depend only on the user, even if a program hides its executable.
        #expect(
            try peer("ask", service.configuration.socket, "a").lines() == [
                "groups a", "add a 0", "sees a",
            ])
        #expect(
            try peer("hide", service.configuration.socket).lines() == ["groups a", "sees a"])
    }

    @Test func `a keychain without connections is closed, and reopened when needed`() throws {
        let folder = try TemporaryFolder()
        try TestService.entitle(.user(geteuid()), ["a", "*"], in: folder)
        let service = try TestService(folder: folder) {
            $0.kind = .system
            $0.socket = folder.path + "/everybody/socket"
            $0.limits.idleTime = .milliseconds(50)
        }
        let lease = service.configuration.directory + "/\(geteuid())/in-use"
        let caller = AccessGroups(["a"])
        do {
            let raw = try RawClient(service.configuration.socket)
            try raw.greet()
            _ = try raw.ask(2, AddItem(password("x")), as: ["a"])
            #expect(!Self.isFree(lease))
        }
        try eventually("the keychain is closed") { Self.isFree(lease) }
        #expect(try service.client().load("x", as: caller) == "x")
    }

    @Test func `the service logs that it converts a keychain of an earlier version`() throws {
        let folder = try TemporaryFolder()
        try OldKeychain.plain.image.layOut(at: folder.makeFolder("keychain"))
        let log = LogLines()
        let service = try TestService(folder: folder, log: log) {
            $0.engine.log = log.logger()
        }
        #expect(try service.client().perform(HasPasscode()) == false)
        let said = log.all.filter { $0.contains("convert") }
        #expect(
            said == [
                "notice The keychain is of an earlier version and is converted now. Items: 3.\n",
                "notice The keychain is converted. Items: 3.\n",
            ])
    }

    /// Whether no process has the keychain open.
    private static func isFree(_ path: String) -> Bool {
        guard let descriptor = Files.open(path, O_RDWR) else { return false }
        return Files.lock(descriptor)
    }
}
