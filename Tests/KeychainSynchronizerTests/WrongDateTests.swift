// WrongDateTests: items whose modification date is out of range, for example so large that adding a
// millisecond doesn't change it.

import KeychainCore
import KeychainSQLite
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Items with wrong dates` {
    private let server = MemoryStore()

    @Test func `an item with a date out of range isn't sent until it is replaced`() async throws {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        let now = one.clock.now
        one.clock.now = 1e300
        try one.set("a", "1")
        one.clock.now = now
        try one.set("b", "2")
        try await converge(one, two)
        try #require(try two.values() == ["b": "2"])
        #expect(try await one.status().staying == [StayingItems(reason: .notValid, count: 1)])
        // The item's tombstone doesn't make a later item invalid.
        try one.delete("a")
        try one.set("a", "3")
        try await converge(one, two)
        #expect(try two.values() == ["a": "3", "b": "2"])
        #expect(try await one.status().staying == [])
        #expect(try await one.status().waitingCount == 0)
    }

    /// From about 1.76e13 on, adding a millisecond to a finite date doesn't change it.
    @Test(arguments: [1e12, -1e12, 1.8e13, 1e300, .infinity, .nan])
    func `an item with a date out of range can't be synchronized`(_ moment: Double) {
        let record = ItemRecord(
            itemClass: .genericPassword,
            attributes: [
                .service: .string("s"), .account: .string("a"), .creationDate: .date(0),
                .modificationDate: .date(moment),
            ], accessGroup: Device.group, isSynchronizable: true, isTombstone: false)
        #expect(SynchronizedItem(record, .whenUnlocked, data: nil) == nil)
        #expect(SynchronizedItem.reasonToStay(record, .whenUnlocked, nil) == .notValid)
        // The latest date that a member can write leaves room for a change.
        #expect(ItemRecord.dateLimit.nextDown + 0.001 > ItemRecord.dateLimit.nextDown)
    }
}
