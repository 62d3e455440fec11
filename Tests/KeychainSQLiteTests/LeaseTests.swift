// LeaseTests: the leases by which processes share a keychain's folder or exclude one another.

import Foundation
import Glibc
import KeychainCore
import Testing

@testable import KeychainSQLite

@Suite struct LeaseTests {
    /// From the fork until it executes another program, a child process has copies of all its
    /// parent's descriptors.
    @Test func `a lease ends even if a forked child still has the lease's descriptor`() throws {
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
        // The duplicate shares the lock, like the descriptor of a forked child.
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
