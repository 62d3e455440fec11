// HardwareTests: a machine whose key for signing is in a chip.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainTesting
import SynchronizationTestSupport
import Testing

@Suite struct `A machine with a chip` {
    private let server = MemoryStore()

    @Test func `the machine signs with a key in its chip, and sends nothing without the chip`()
        async throws
    {
        let chip = SimulatedSecureEnclave()
        let (one, two) = (
            try Device("one", server, hardware: chip), try Device("two", server)
        )
        // The machine signs the founding of the circle, an addition, entries, grants and heads.
        try await one.found()
        try await one.add(two)
        try one.set("a", "1")
        try two.set("b", "1")
        try await converge(one, two)
        for device in [one, two] { #expect(try device.values() == ["a": "1", "b": "1"]) }
        try one.restart()
        try one.set("a", "2")
        try await converge(one, two)
        #expect(try two.values() == ["a": "2", "b": "1"])

        chip.isPresent = false
        try one.restart()
        try one.set("a", "3")
        await #expect(throws: KeychainFailure.self) { try await one.settle() }
        try await converge(two)
        #expect(try two.values() == ["a": "2", "b": "1"])
        // The change waits until the chip is back.
        chip.isPresent = true
        try one.restart()
        try await converge(one, two)
        #expect(try two.values() == ["a": "3", "b": "1"])
    }

    @Test func `another chip can't sign for the machine`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "chips-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (chip, other) = (SimulatedSecureEnclave(), SimulatedSecureEnclave())
        let one = try Device("one", server, folder: folder, hardware: chip)
        try await one.found()
        one.engine.close()
        let copy = try Device("one", server, folder: folder, hardware: other)
        try copy.set("a", "1")
        let before = server.records
        await #expect(throws: KeychainFailure.self) { try await copy.settle() }
        #expect(server.records == before)
    }
}
