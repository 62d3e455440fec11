// ProcessKeychainTests: a whole process, which uses the service or opens the keychain itself.

import Foundation
import Glibc
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainWire
import Testing

@testable import KeychainRuntime

/// Sets or removes an environment variable of this process.
private func setVariable(_ name: String, _ value: String?) {
    // SAFETY: the texts are valid for the call, and the process has no other thread that reads
    // variables yet.
    if let value { unsafe _ = setenv(name, value, 1) } else { unsafe _ = unsetenv(name) }
}

/// A process chooses its keychain only once, so each test runs in a separate process.
@Suite struct `The keychain of a process` {
    @Test func `an environment variable directs every call to the service`() async {
        await #expect(processExitsWith: .success) {
            let seen = Recorded<String>()
            let service = try FakeService { peer, _ in
                peer.serve { request in
                    seen.append(request.code?.name ?? "")
                    return `The client of the service`.answer(request)
                }
            }
            setVariable(KeychainChoice.variable, service.path)
            let connection = try KeychainContext.current()
            #expect(connection.caller == AccessGroups(["one", "two"]))
            #expect(try connection.handler.perform(HasPasscode()))
            #expect(try KeychainContext.entitlements() == FakePeer.welcome.entitlements)
            let status = try ProcessKeychain.administration().perform(ReadStatus())
            #expect(status == `The client of the service`.status)
            // The process has made its choice, so the variable no longer has an effect.
            setVariable(KeychainChoice.variable, KeychainChoice.embeddedName)
            #expect(try KeychainChoice.current().mode == .service(socket: service.path))
            #expect(seen.values == ["hasPasscode", "status"])
        }
    }

    @Test func `if the service doesn't answer, no other keychain is used instead`() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "process-\(UUID().uuidString.prefix(8))").path(
                    percentEncoded: false)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let service = try FakeService(takesConnections: false)
            setVariable("XDG_DATA_HOME", folder)
            setVariable(KeychainChoice.variable, service.path)
            for _ in 0..<2 {
                let failure = #expect(throws: KeychainFailure.self) {
                    try KeychainContext.current()
                }
                #expect(failure?.status == .notAvailable)
            }
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    @Test func `a program without an access group gets an entitlement error`() async {
        await #expect(processExitsWith: .success) {
            var welcome = FakePeer.welcome
            welcome.entitlements = Entitlements(accessGroups: AccessGroups([]))
            let service = try FakeService { [welcome] peer, _ in
                _ = peer.greet(welcome)
                _ = peer.request()
            }
            setVariable(KeychainChoice.variable, service.path)
            let failure = #expect(throws: KeychainFailure.self) { try KeychainContext.current() }
            #expect(failure?.status == .missingEntitlement)
        }
    }

    private static let item = NewItem(
        itemClass: .genericPassword,
        attributes: [.service: .string("service"), .account: .string("account")],
        protection: .afterFirstUnlock, data: Data("secret".utf8))

    /// Requests to a keychain that doesn't exist, and their statuses.
    private static let looks:
        [(@Sendable (any RequestHandler, AccessGroups) throws -> Void, Int32)] = {
            let item = ItemQuery(itemClass: .genericPassword)
            let pair = IdentityQuery(
                certificate: ItemQuery(itemClass: .certificate), key: ItemQuery(itemClass: .key))
            let passcode = SecretBytes(copying: [1])
            return [
                ({ _ = try $0.perform(FindItems(item, Retrieval()), as: $1) }, -25300),
                ({ _ = try $0.perform(UpdateItems(item, ItemChanges()), as: $1) }, -25300),
                ({ _ = try $0.perform(DeleteItems(item, tombstones: .automatic), as: $1) }, -25300),
                ({ _ = try $0.perform(FindIdentities(pair, Retrieval()), as: $1) }, -25300),
                ({ keychain, _ in _ = try keychain.perform(HasPasscode()) }, 0),
                ({ keychain, _ in _ = try keychain.perform(ReadStatus()) }, 0),
                ({ keychain, _ in _ = try keychain.perform(CheckKeychain()) }, 0),
                ({ keychain, _ in try keychain.perform(Lock()) }, -50),
                ({ keychain, _ in try keychain.perform(LockAll()) }, -50),
                ({ keychain, _ in try keychain.perform(Unlock(passcode: passcode)) }, -50),
                ({ keychain, _ in _ = try keychain.perform(RemovePasscode(passcode)) }, -50),
            ]
        }()

    @Test
    func `requests that add nothing create no keychain, but use one that another process creates`()
        async
    {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "process-\(UUID().uuidString.prefix(8))").path(
                    percentEncoded: false)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            setVariable(EmbeddedKeychain.directoryVariable, folder + "/below/keychain")
            setVariable(KeychainChoice.variable, nil)
            let connection = try KeychainContext.current()
            let keychain = try ProcessKeychain.administration()
            for (index, (look, expected)) in Self.looks.enumerated() {
                var status: Int32 = 0
                do { try look(keychain, connection.caller) } catch let failure as KeychainFailure {
                    status = failure.status.rawValue
                }
                #expect(status == expected, "\(index)")
            }
            let isTold = Recorded<Bool>()
            let subscription = try keychain.subscribe { isTold.append(true) }
            #expect(!FileManager.default.fileExists(atPath: folder))

            // Another engine, as in another process, creates the keychain. The subscriber is
            // notified of the creation and of later changes.
            let other = try KeychainEngine.open(
                directory: folder + "/below/keychain", options: EngineOptions())
            #expect(isTold.waitForNext())
            _ = try other.perform(AddItem(Self.item), as: connection.caller)
            #expect(isTold.waitForNext())
            #expect(
                try connection.perform(
                    FindItems(ItemQuery(itemClass: .genericPassword), Retrieval(includesData: true))
                ).first?.data == Data("secret".utf8))
            subscription.end()
            other.close()
        }
    }

    @Test func `a process can use the keychain after another process rotated the keys`() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "process-\(UUID().uuidString.prefix(8))").path(
                    percentEncoded: false)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            setVariable(EmbeddedKeychain.directoryVariable, folder)
            setVariable(KeychainChoice.variable, nil)
            _ = try KeychainContext.current().perform(AddItem(Self.item))
            // The keychain exists now, so the new connection sends requests directly to the engine.
            let connection = try KeychainContext.current()
            _ = try connection.perform(FindItems(ItemQuery(itemClass: .genericPassword)))
            let other = try KeychainEngine.open(directory: folder, options: EngineOptions())
            for retrieval in [
                Retrieval(includesData: true, includesAttributes: false),
                Retrieval(limit: nil), Retrieval(includesData: true),
            ] {
                try other.rotate()
                let found = try connection.perform(
                    FindItems(
                        ItemQuery(itemClass: .genericPassword, attributes: Self.item.attributes),
                        retrieval))
                #expect(found.count == 1)
                try other.rotate()
                _ = try connection.perform(
                    UpdateItems(
                        ItemQuery(itemClass: .genericPassword),
                        ItemChanges(data: Data("other".utf8))))
            }
            other.close()
        }
    }

    @Test func `with KEYCHAIN_DIRECTORY, the process opens the keychain directly`() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "process-\(UUID().uuidString.prefix(8))").path(
                    percentEncoded: false)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            setVariable(EmbeddedKeychain.directoryVariable, folder)
            setVariable(KeychainChoice.variable, nil)
            let connection = try KeychainContext.current()
            _ = try connection.perform(AddItem(Self.item))
            guard case .engine = try KeychainContext.current().handler else {
                Issue.record("The process doesn't send its requests to the engine.")
                return
            }
            #expect(try ProcessKeychain.administration().perform(ReadStatus()).directory == folder)
            #expect(try KeychainChoice.current().mode == .embedded)
        }
    }
}
