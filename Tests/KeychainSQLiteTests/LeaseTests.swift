// LeaseTests: who may use a keychain's folder, and from when on another one may.

import Foundation
import Glibc
import KeychainCore
import Testing

@testable import KeychainSQLite

@Suite struct LeaseTests {
    /// A child has all descriptors from the moment it is forked until it becomes another program.
    @Test func `a lease has ended although a child that was just forked has its descriptor`() throws
    {
        let folder = StoreFolder(path: NSTemporaryDirectory() + "lease-\(UUID().uuidString)")
        try folder.prepare()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        let path = folder.path(of: .lease)
        let lease = try folder.lease(exclusive: true)
        let own = try #require(
            (3..<1024).first {
                (try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/self/fd/\($0)")) == path
            })
        // It shares the lock with the first, as that of a child does.
        let inherited = dup(Int32(own))
        defer { close(inherited) }
        #expect(throws: KeychainFailure.self) { try folder.lease(exclusive: false) }
        lease.end()
        let next = try folder.lease(exclusive: false)
        #expect(throws: KeychainFailure.self) { try folder.lease(exclusive: true) }
        next.end()
        try folder.lease(exclusive: true).end()
    }
}
