// SynchronizerTests: keychains of several machines that share a server.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRelay
import KeychainSQLite
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Keychains of a circle` {
    private let server = MemoryStore()

    private func pair() async throws -> (Device, Device) {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        return (one, two)
    }

    @Test func `an item that one machine saves is loaded on the other`() async throws {
        let (one, two) = try await pair()
        try one.set("a", "1")
        try await converge(one, two)
        #expect(try two.values() == ["a": "1"])
        try two.set("a", "2")
        try two.set("b", "3")
        try await converge(two, one)
        #expect(try one.values() == ["a": "2", "b": "3"])
        try one.delete("a")
        try await converge(one, two)
        #expect(try two.values() == ["b": "3"])
        #expect(try await one.status().waitingCount == 0)
    }

    @Test func `items older than the circle are sent, by the founder and by a new machine`()
        async throws
    {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try one.set("a", "1")
        try two.set("b", "2")
        try await one.found()
        try await one.add(two)
        try await converge(one, two)
        #expect(try one.values() == ["a": "1", "b": "2"])
        #expect(try two.values() == ["a": "1", "b": "2"])
    }

    @Test func `an added machine is known to the others by its name`() async throws {
        let (one, two) = try await pair()
        try await converge(one, two)
        for device in [one, two] {
            let status = try await device.status()
            #expect(status.state == .current)
            #expect(Set(status.machines.map(\.name)) == ["one", "two"])
            #expect(status.machines.filter(\.isThisOne).map(\.name) == [device.name])
            #expect(status.notices == [])
        }
    }

    @Test func `no change is lost if a process ends before it has sent the change`() async throws {
        let (one, two) = try await pair()
        try one.set("a", "1")
        try one.restart()
        try await converge(one, two)
        #expect(try two.values() == ["a": "1"])
        try two.restart()
        try two.set("a", "2")
        try two.delete("a")
        try two.restart()
        try await converge(two, one)
        #expect(try one.values() == [:])
        #expect(try two.values() == [:])
    }

    @Test func `a server that can't be reached delays changes, but no change is lost`() async throws
    {
        let (one, two) = try await pair()
        server.setUnreachable(true)
        for number in 0..<300 { try one.set("item \(number)", "\(number)") }
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        #expect(try await one.status().waitingCount == 300)
        try one.restart()
        server.setUnreachable(false)
        try await converge(one, two)
        #expect(try two.values() == (try one.values()))
        #expect(try two.values().count == 300)
        #expect(try await one.status().waitingCount == 0)
    }

    @Test func `an entry that the server stored without answering doesn't cause a fork`()
        async throws
    {
        let (one, two) = try await pair()
        try one.set("a", "1")
        server.leaveUnanswered(1)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        try one.restart()
        try await converge(one, two)
        #expect(try two.values() == ["a": "1"])
        #expect(try await two.status().notices == [])
    }

    @Test
    func `while the server lacks a machine's last entry, the status says that nothing is read`()
        async throws
    {
        let (one, two) = try await pair()
        try two.set("b", "2")
        try await two.settle()
        try one.set("a", "1")
        server.setReadOnly(true)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        try one.restart()
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        let status = try await one.status()
        #expect(status.state == .restoring)
        #expect(status.notices.contains { $0.contains("not stored the last entry") })
        server.setReadOnly(false)
        try await converge(one, two)
        #expect(try await one.status().notices == [])
        #expect(try one.values() == ["a": "1", "b": "2"])
        #expect(try two.values() == ["a": "1", "b": "2"])
    }

    // MARK: Conflicts

    @Test func `the later of two changes counts on both machines`() async throws {
        let (one, two) = try await pair()
        try one.set("a", "earlier")
        two.clock.now = one.clock.now + 10
        try two.set("a", "later")
        try await converge(one, two)
        #expect(try one.values() == ["a": "later"])
        #expect(try two.values() == ["a": "later"])
    }

    @Test func `a change counts even if its machine's clock is years behind`() async throws {
        let (one, two) = try await pair()
        one.clock.now += 100_000_000
        try one.set("a", "1")
        try await converge(one, two)
        try two.set("a", "2")
        try await converge(two, one)
        #expect(try one.values() == ["a": "2"])
        try two.delete("a")
        try await converge(two, one)
        #expect(try one.values() == [:])
        try two.set("a", "3")
        try await converge(two, one)
        #expect(try one.values() == ["a": "3"])
    }

    @Test func `an item that was deleted while a machine was away stays deleted`() async throws {
        let (one, two) = try await pair()
        try one.set("a", "1")
        try one.set("b", "2")
        try await converge(one, two)
        try one.delete("a")
        try await one.settle()
        try one.restart()
        try two.restart()
        try await converge(two, one)
        #expect(try one.values() == ["b": "2"])
        #expect(try two.values() == ["b": "2"])
    }

    @Test func `after a recovery that loses the outbox, items are kept and sent`() async throws {
        let (one, two) = try await pair()
        try one.set("a", "1")
        try await converge(one, two)
        try one.set("b", "2")
        try one.engine.stopCollectingChanges()
        try one.restart()
        try await converge(one, two)
        #expect(try one.values() == ["a": "1", "b": "2"])
        #expect(try two.values() == ["a": "1", "b": "2"])
    }

    @Test func `a deletion stays in its machine's log until the other machine acknowledges it`()
        async throws
    {
        let (one, two) = try await pair()
        try one.set("a", "1")
        try one.set("b", "2")
        try await converge(one, two)
        // The log is compacted, but keeps the deletion until machine two has acknowledged it.
        try one.delete("a")
        for number in 0..<200 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        try await converge(one, two)
        try two.restart()
        try await converge(two)
        #expect(try two.values() == ["b": "199"])
    }

    @Test func `a machine's log that contains only acknowledgements is kept short`() async throws {
        let (one, two) = try await pair()
        for number in 0..<200 {
            try one.set("a", "\(number)")
            try await one.settle()
            try await two.settle()
        }
        let machine = Hexadecimal.text(try await two.id().bytes)
        let log = server.records.keys.filter { $0.contains("/l/\(machine)/") }
        #expect(log.count < 150)
        #expect(try two.values() == ["a": "199"])
        try two.restart()
        try await converge(two, one)
        #expect(try two.values() == ["a": "199"])
    }

    @Test func `a locked keychain exchanges nothing, and continues when it is unlocked`()
        async throws
    {
        let (one, two) = try await pair()
        let passcode = SecretBytes(copying: Array("a passcode".utf8))
        try one.engine.perform(SetPasscode(passcode, allowsWeak: true), as: AccessGroups([]))
        try two.set("a", "1")
        try await two.settle()
        try one.engine.perform(Lock(), as: AccessGroups([]))
        #expect(try await one.settle().state == .locked)
        #expect(try await one.status().state == .locked)
        await #expect {
            try await one.relay.send(.remove(Bytes16(high: 1, low: 2)))
        } throws: {
            ($0 as? KeychainFailure)?.status == .interactionNotAllowed
        }
        try one.engine.perform(Unlock(passcode: passcode), as: AccessGroups([]))
        try await converge(one, two)
        #expect(try one.values() == ["a": "1"])
    }

    // MARK: What is sent

    @Test(arguments: ProtectionClass.allCases)
    func `only synchronizable items that aren't this-device-only are sent to other machines`(
        protection: ProtectionClass
    ) async throws {
        let (one, two) = try await pair()
        let passcode = SecretBytes(copying: Array("a passcode".utf8))
        try one.engine.perform(SetPasscode(passcode, allowsWeak: true), as: AccessGroups([]))
        try one.set("local", "1", protection: protection, isSynchronizable: false)
        try? one.set("synchronizable", "2", protection: protection)
        try await converge(one, two)
        let expected = protection.isThisDeviceOnly ? [:] : ["synchronizable": "2"]
        #expect(try two.values() == expected)
    }

    /// `sysb` is `kSecAttrSysBound`.
    @Test func `an item whose attribute sysb is 1 isn't sent, and the status says why`()
        async throws
    {
        let (one, two) = try await pair()
        for (account, isBound) in [("bound", 1), ("free", 0)] {
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: [
                    .service: .string("s"), .account: .string(account),
                    .systemBound: .number(Int64(isBound)),
                ],
                accessGroup: Device.group, protection: .whenUnlocked, isSynchronizable: true,
                data: Data("1".utf8))
            _ = try one.engine.perform(AddItem(item), as: Device.caller)
        }
        try await converge(one, two)
        #expect(try two.values() == ["free": "1"])
        #expect(
            try await one.status().staying == [StayingItems(reason: .systemBound, count: 1)])
    }

    /// No program can make a key in hardware, or an item under an access control, synchronizable.
    /// But an older keychain may contain synchronizable ones.
    @Test func `keys in hardware and items under an access control have a reason not to be sent`() {
        var record = ItemRecord(
            itemClass: .key,
            attributes: [.tokenID: .string("com.apple.setoken"), .modificationDate: .date(1)],
            accessGroup: Device.group, isSynchronizable: true, isTombstone: false)
        #expect(SynchronizedItem.reasonToStay(record, .whenUnlocked, nil) == .hardwareKey)
        record.attributes[.tokenID] = nil
        record.constraints = .userPresence
        #expect(SynchronizedItem.reasonToStay(record, .whenUnlocked, nil) == .accessControl)
    }

    @Test func `an item that is too large isn't sent, and the status says why`() async throws {
        let (one, two) = try await pair()
        try one.set("large", String(repeating: "x", count: SynchronizedItem.byteLimit))
        for number in 0..<10 {
            try one.set("\(number)", String(repeating: "x", count: 200_000))
        }
        try await converge(one, two)
        #expect(Set(try two.values().keys) == Set((0..<10).map { "\($0)" }))
        #expect(
            try await one.status().staying == [StayingItems(reason: .tooLarge, count: 1)])
    }

    @Test func `an item of a group whose name is too long isn't sent, and the status says why`()
        async throws
    {
        let (one, two) = try await pair()
        for (count, account) in [(GroupKey.groupByteLimit, "fits"), (1025, "too long")] {
            let group = String(repeating: "g", count: count)
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: [.service: .string("s"), .account: .string(account)],
                accessGroup: group, protection: .whenUnlocked, isSynchronizable: true,
                data: Data("1".utf8))
            _ = try one.engine.perform(AddItem(item), as: AccessGroups([group]))
        }
        try await converge(one, two)
        let group = String(repeating: "g", count: GroupKey.groupByteLimit)
        let found = try two.engine.perform(
            FindItems(ItemQuery(itemClass: .genericPassword, isSynchronizable: nil)),
            as: AccessGroups([group]))
        #expect(found.map { $0.attributes[.account] } == [.string("fits")])
        let expected = [StayingItems(reason: .groupNameTooLong, count: 1)]
        #expect(try await one.status().staying == expected)
        try one.restart()
        try await converge(one, two)
        #expect(try await one.status().staying == expected)
    }

    @Test func `the outbox is read in pages, in order`() async throws {
        let one = try Device("one", server)
        try await one.found()
        for number in 0..<300 { try one.set("\(number % 200)", "\(number)") }
        let all = try one.engine.outbox()
        #expect(all.count == 300)
        var pages: [OutboxEntry] = []
        while true {
            let page = try one.engine.outbox(after: pages.last?.id ?? .min, limit: 128)
            #expect(page.count <= 128)
            guard !page.isEmpty else { break }
            pages += page
        }
        #expect(pages == all)
        // Each item counts once, however often it changed.
        #expect(try await one.status().waitingCount == 200)
        try await one.settle()
        #expect(try one.engine.outbox().isEmpty)
        #expect(try await one.status().waitingCount == 0)
    }

    @Test func `the server has no plaintext of items, group names or machine names`() async throws {
        let (one, two) = (try Device("planted one", server), try Device("planted two", server))
        try await one.found()
        try await one.add(two)
        try one.set("planted account", "planted value")
        try await converge(one, two)
        let everything = server.everything.flatMap { $0 }
        for text in ["planted", Device.group, "genp"] {
            #expect(everything.firstRange(of: Array(text.utf8)) == nil)
        }
    }

    // MARK: Members

    @Test func `a machine that was added for certain groups gets only items of these groups`()
        async throws
    {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two, groups: ["other"])
        try one.set("a", "1")
        try one.set("b", "2", group: "other")
        try two.set("c", "3")
        try two.set("d", "4", group: "other")
        try await converge(one, two)
        #expect(try one.values() == ["a": "1", "b": "2", "d": "4"])
        #expect(try two.values() == ["b": "2", "c": "3", "d": "4"])
        #expect(
            try await two.status().staying == [StayingItems(reason: .groupNotShared, count: 1)])
        try two.restart()
        try await converge(two, one)
        #expect(try two.values() == ["b": "2", "c": "3", "d": "4"])
        let id = try await two.id()
        let refusal = await #expect(throws: KeychainFailure.self) {
            _ = try await two.relay.send(.remove(id))
        }
        #expect(refusal?.reason.contains("another machine has to remove it") == true)
    }

    @Test func `a removed machine neither receives nor sends any more changes`() async throws {
        let (one, two) = try await pair()
        try one.set("a", "1")
        try await converge(one, two)
        let description = try await two.relay.send(.describe).message
        _ = try await one.relay.send(.remove(try await two.id()))
        try await one.settle()
        let refusal = await #expect(throws: KeychainFailure.self) {
            _ = try await one.relay.send(.add(machine: description, name: "two", groups: nil))
        }
        #expect(refusal?.reason.contains("The machine was in the circle") == true)
        try one.set("b", "2")
        try two.set("c", "3")
        try await converge(one, two)
        #expect(try one.values() == ["a": "1", "b": "2"])
        #expect(try two.values() == ["a": "1", "c": "3"])
        #expect(try await two.settle().state == .removed)
        #expect(try await one.status().machines.map(\.name) == ["one"])
        // A new session reads the last head of the removed machine, which is still on the server.
        try one.restart()
        try await one.settle()
        #expect(try await one.status().notices == [])
    }

    @Test
    func `a change by a machine that didn't know of a removal yet is sent again after a restart`()
        async throws
    {
        let (one, two) = try await pair()
        let three = try Device("three", server)
        try await one.add(three)
        try await converge(one, two, three)
        let known = try #require(server.records.keys.filter { $0.contains("/m/") }.max())
        _ = try await one.relay.send(.remove(try await three.id()))
        try await one.settle()
        // Machine two doesn't see the removal, and writes under the old epoch.
        server.hide { $0.contains("/m/") && $0 > known }
        try two.set("a", "1")
        try await two.settle()
        #expect(try await two.status().waitingCount == 0)
        server.hide { _ in false }
        try two.restart()
        try await converge(two, one)
        #expect(try one.values() == ["a": "1"])
        #expect(try two.values() == ["a": "1"])
    }

    /// An entry of machine three refers to additions in the membership log. If the last of these
    /// additions come only with the next delivery, machine two reads the entry again.
    @Test func `a change is read although more members were added than fit into one delivery`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        for number in 0..<70 {
            let machine = MachineKeys.random().description.bytes
            _ = try await one.relay.send(
                .add(machine: Data(machine), name: "\(number)", groups: nil))
            try await one.settle()
        }
        // Machine three's next entry refers to the last of these additions.
        try three.restart()
        try three.set("a", "1")
        try await three.settle()
        try await two.settle()
        #expect(try two.values() == ["a": "1"])
    }
}
