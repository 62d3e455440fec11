// RemovedMachineTests: requests to a machine that was removed from its circle.

import Foundation
import KeychainCore
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A removed machine` {
    @Test(arguments: [false, true])
    func `each request about the members says that the machine was removed`(isAnew: Bool)
        async throws
    {
        let server = MemoryStore()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        try await converge(one, two)
        let id = try await one.id()
        _ = try await one.relay.send(.remove(try await two.id()))
        try await one.settle()
        #expect(try await two.settle().state == .removed)
        if isAnew { try two.restart() }
        let machine = Data(MachineKeys.random().description.bytes)
        let requests: [SynchronizationMessage] = [
            .add(machine: machine, name: "three", groups: nil), .remove(id),
            .makeToken(groups: nil, expires: .max), .membershipHead,
        ]
        for request in requests {
            let refusal = await #expect(throws: KeychainFailure.self) {
                _ = try await two.relay.send(request)
            }
            #expect(refusal?.reason.contains("was removed from its circle") == true)
        }
        #expect(try await two.status().state == .removed)
    }
}
