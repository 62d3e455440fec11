// StoredMembershipTests: the membership log that a machine keeps in its keychain.

import Foundation
import KeychainCore
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A stored membership log` {
    /// A machine that joins a circle stores the entries of the membership log in its keychain, the
    /// last entry first. If the machine is interrupted, only some of the last entries are stored.
    /// The machine can then join another circle.
    @Test func `entries left by an interrupted attempt to join don't disturb a later circle`()
        async throws
    {
        let server = MemoryStore()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        let name = "swift-keychain.synchronization"
        for index in 4...5 {
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: [.service: .string(name), .account: .string("membership \(index)")],
                accessGroup: name, protection: .afterFirstUnlockThisDeviceOnly,
                data: Data([1, 2, 3]))
            _ = try two.engine.perform(AddItem(item), as: AccessGroups([name]))
        }
        try await one.add(two)
        for number in 3...6 {
            try await one.add(try Device("\(number)", server))
            try await two.settle()
        }
        try two.restart()
        try await converge(one, two)
        let status = try await two.status()
        #expect(status.state == .current)
        #expect(status.machines.count == 6)
    }
}
