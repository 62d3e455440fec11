// CircleMachineTests: a machine of a circle whose key for signing is in a TPM.

#if TPM

import KeychainCore
import SynchronizationTestSupport
import Testing

@testable import KeychainTPM

@Suite struct `A machine of a circle with a TPM` {
    @Test func `it and a machine without a TPM accept each other's entries, also after a restart`()
        async throws
    {
        let (chip, server) = (try SimulatedChip(), MemoryStore())
        let one = try Device("one", server, hardware: chip.module())
        let two = try Device("two", server)
        try await one.found()
        try await one.add(two)
        try one.set("a", "1")
        try two.set("b", "2")
        try await converge(one, two)
        try one.restart()
        try one.set("a", "3")
        try await converge(one, two)
        for device in [one, two] { #expect(try device.values() == ["a": "3", "b": "2"]) }
    }
}

#endif
