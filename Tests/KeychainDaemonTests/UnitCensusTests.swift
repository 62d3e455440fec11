// UnitCensusTests: when a systemd unit is accepted as an identity.

import Glibc
import Synchronization
import Testing

@testable import KeychainDaemon

@Suite struct `Units as identities` {
    private final class Processes: Sendable {
        let list = Mutex<[(users: Set<uid_t>, cgroup: String)]>([
            (users: [7], cgroup: "/system.slice/a.service"),
            (users: [8], cgroup: "/user.slice/session-1.scope"),
        ])
    }

    @Test
    func `a unit isn't an identity once a process outside it was seen with the unit's user id`() {
        let running = Processes()
        let census = UnitCensus { running.list.withLock { $0 } }
        #expect(census.objection(to: "a.service", of: 7) == nil)
        // A process with the unit's user id among its ids can switch to that user.
        running.list.withLock { $0.append((users: [0, 7], cgroup: "/user.slice/x")) }
        #expect(census.objection(to: "a.service", of: 7)?.contains("/user.slice/x") == true)
        running.list.withLock { _ = $0.popLast() }
        #expect(census.objection(to: "a.service", of: 7) != nil)
        #expect(census.objection(to: "a.service", of: 0) != nil)
    }

    @Test func `a unit isn't accepted as an identity while its own processes can't be seen`() {
        let running = Processes()
        let own = running.list.withLock { $0.remove(at: 0) }
        running.list.withLock { $0.append((users: [7], cgroup: "/user.slice/x")) }
        let census = UnitCensus { running.list.withLock { $0 } }
        #expect(census.objection(to: "a.service", of: 7)?.contains("/proc") == true)
        // The census remembers the process that it saw outside the unit.
        running.list.withLock { $0 = [own] }
        #expect(census.objection(to: "a.service", of: 7)?.contains("/user.slice/x") == true)
        #expect(UnitCensus { nil }.objection(to: "a.service", of: 7)?.contains("/proc") == true)
    }
}
