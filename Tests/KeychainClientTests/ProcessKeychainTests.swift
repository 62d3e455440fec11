// ProcessKeychainTests: a whole process that asks the service.

import Foundation
import Glibc
import KeychainEngine
import KeychainModel
import KeychainWire
import Testing

@testable import KeychainClient

/// Sets a variable of this process, or takes it away.
private func setVariable(_ name: String, _ value: String?) {
    // SAFETY: the texts are valid for the call, and the process has no other thread that reads
    // variables yet.
    if let value { unsafe _ = setenv(name, value, 1) } else { unsafe _ = unsetenv(name) }
}

/// The choice is made once for a process, so each test has one of its own.
@Suite struct `The keychain of a process` {
    @Test func `a variable leads every call to the service`() async {
        await #expect(processExitsWith: .success) {
            let seen = Recorded<String>()
            let service = try FakeService { peer, _ in
                peer.serve { request in
                    seen.append(request.operation.name)
                    return .answer(`The client of the service`.answer(request.operation))
                }
            }
            setVariable(KeychainChoice.variable, service.path)
            let connection = try KeychainContext.current()
            #expect(connection.caller == AccessGroups(["one", "two"]))
            #expect(try connection.service.knowsPasscode())
            #expect(try KeychainContext.entitlements() == FakePeer.welcome.entitlements)
            let status = try ProcessKeychain.administration().status()
            #expect(status == `The client of the service`.status)
            // It was decided, and stays.
            setVariable(KeychainChoice.variable, KeychainChoice.embeddedName)
            #expect(try KeychainChoice.current().mode == .service(socket: service.path))
            #expect(seen.values == ["knows passcode", "status"])
        }
    }

    @Test func `a service that doesn't answer is never passed over`() async {
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

    @Test func `a program without a group may do nothing`() async {
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

    @Test func `without a service the process opens the keychain itself`() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "process-\(UUID().uuidString.prefix(8))").path(
                    percentEncoded: false)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            setVariable(EmbeddedKeychain.directoryVariable, folder)
            setVariable(KeychainChoice.variable, nil)
            let connection = try KeychainContext.current()
            #expect(connection.service is KeychainEngine)
            #expect(try ProcessKeychain.administration().status().directory == folder)
            #expect(try KeychainChoice.current().mode == .embedded)
        }
    }
}
