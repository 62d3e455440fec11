// RacingProcessTests: many processes that request one identifier at the same time.

#if !canImport(Darwin)

import Foundation
import TestPrograms
import Testing

@testable import Keychain

extension DeviceIdentityTests {
    @Test(.timeLimit(.minutes(20)))
    func `32 processes that request an identifier at once all get the same identifier`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "keychain-api-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let start = Pipe()
        let racers = try (0..<32).map { _ in
            try TestProgram(
                "identity-racer", [folder.path, "com.example.app"], input: start)
        }
        for racer in racers { #expect(racer.line() == "ready") }
        try start.fileHandleForWriting.close()
        let answers = racers.map { $0.line() ?? "nothing" }
        #expect(Set(answers).count == 1)
        #expect(UUID(uuidString: answers[0]) != nil, "\(answers[0])")
        #expect(racers.allSatisfy { $0.endedWell })
        let identity = DeviceIdentity(
            service: "com.example.app",
            in: KeychainDatabase(directory: folder, accessGroups: ["racers"]))
        #expect(try identity.existing() == answers[0])
    }
}

#endif
