// Round: serves the demands of a keychain until there is nothing left to read or write.
//   (1) A log whose next entries the keychain didn't accept is offered again in this round only
//       after the keychain has accepted entries of the membership log.
//   (2) Once the keychain is current, a round stores no entry and no signed head, and deletes no
//       entry, before the server has shown the last entry of the machine's own log. An entry of the
//       membership log is written only if the server has the entry before it.
//   (3) The signed head is stored once there is nothing else to tell the keychain. So if the server
//       has no space for the head, the keychain has already been told everything else.

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainSynchronization

struct Round {
    private let store: any RecordStore
    private let absenceLimit: Int64
    private let changes: PendingChanges.Changes
    /// The positions at which the server has nothing, or whose entries were offered.
    private var offered: Set<LogPosition> = []
    private var ends: Set<LogPosition> = []
    private var endOfMembership: UInt64 = 0
    /// The highest index in the membership log that the keychain has demanded so far.
    private var membershipIndex: UInt64 = 0
    /// Whether the keychain was told of the end of the membership log in the state `comparing`.
    private var hasToldEnd = false
    private var hasOfferedHeads = false
    private var hasFoundOwnLog = false
    private var offeredChange: UInt64 = 0
    /// The indexes at which the server has a different entry from this machine's.
    private var conflicts: Set<UInt64> = []
    private var firstNeeded: UInt64 = 0
    private var retired: Set<Bytes16> = []

    /// Once a delivery has this number of bytes of the membership log, no further entry of that log
    /// is added to it. The same limit holds for the machines' logs, all of them together. So a
    /// delivery fits into one message to a service.
    private static let deliveryByteCount = 4 << 20

    init(store: any RecordStore, absenceLimit: Int64, _ changes: PendingChanges.Changes) {
        self.store = store
        self.absenceLimit = absenceLimit
        self.changes = changes
    }

    /// Writes what the keychain wants to store, and reads what it demands.
    ///
    /// - Returns: `nil` if there is nothing new to tell it.
    mutating func serve(_ demand: Demand) async throws -> Delivery? {
        let keys = RecordKeys(circle: Hexadecimal.text(Array(demand.circle)))
        var delivery = Delivery()
        if demand.membershipIndex > membershipIndex {
            // The keychain has accepted entries of the membership log, so the same positions may be
            // read again. Entries that the keychain passed over may refer to the accepted ones. And
            // a retirement names entries of other logs, which the server may not have had when
            // those logs were read.
            membershipIndex = demand.membershipIndex
            (offered, ends) = ([], [])
        }
        if let lost = try await lostPosition(demand, keys) {
            guard offered.insert(lost).inserted else { return nil }
            delivery.ends.append(lost)
            return delivery
        }
        // While the session compares, the membership log is read after the other logs. So the
        // entries of the membership log to which the other logs refer are read, too.
        let isComparing = demand.state == .comparing
        var hasNews = false
        if !isComparing { hasNews = try await serveMembership(demand, keys, &delivery) }
        if let entry = demand.entry {
            let key = keys.entry(demand.entryIndex, of: Hexadecimal.text(demand.machine.bytes))
            switch try await store.create(key, Array(entry)) {
            case .created: delivery.storedIndex = demand.entryIndex
            case .exists(let value) where value == Array(entry):
                delivery.storedIndex = demand.entryIndex
            case .exists(let value):
                guard conflicts.insert(demand.entryIndex).inserted else { break }
                delivery.entries.append(Self.data(value))
            }
            hasNews = hasNews || delivery.storedIndex != 0 || !delivery.entries.isEmpty
        }
        let hasRead = try await readLogs(demand, keys, &delivery)
        hasNews = hasRead || hasNews
        if isComparing {
            hasNews = try await serveMembership(demand, keys, &delivery, again: hasRead) || hasNews
        }
        hasNews = try await readHeads(demand, keys, &delivery) || hasNews
        try await tidy(demand, keys, hasNews: hasNews)
        if !hasNews, let head = demand.head {
            try await store.put(keys.head(of: Hexadecimal.text(demand.machine.bytes)), Array(head))
            // This tells the keychain that the server has the head.
            delivery.heads.append(head)
            hasNews = true
        }
        return hasNews ? delivery : nil
    }

    /// The position of the last entry of the machine's own log, if the session is current and the
    /// server has lost the entry. The server is asked only if the round writes or may delete
    /// entries, and not again after it has shown the entry.
    private mutating func lostPosition(
        _ demand: Demand, _ keys: RecordKeys
    ) async throws -> LogPosition? {
        let isWriting = demand.entry != nil || demand.change != nil || demand.head != nil
        guard demand.state == .current, !hasFoundOwnLog,
            isWriting || changes.machines == nil || changes.isOfCircle,
            let position = demand.logs.first(where: { $0.machine == demand.machine })
        else { return nil }
        let log = keys.log(Hexadecimal.text(position.machine.bytes))
        let previous = log + RecordKeys.digits(position.index - 1)
        let found = try await store.records(log, after: previous, limit: 1).first?.key
        hasFoundOwnLog = found == log + RecordKeys.digits(position.index)
        return hasFoundOwnLog ? nil : position
    }

    /// With `again`, reads the membership log even if its end was read before.
    private mutating func serveMembership(
        _ demand: Demand, _ keys: RecordKeys, _ delivery: inout Delivery, again: Bool = false
    ) async throws -> Bool {
        var first = demand.membershipIndex
        if let change = demand.change, demand.changeIndex > offeredChange {
            offeredChange = demand.changeIndex
            // After a gap in the membership log, no machine could join any more.
            if try await hasMembership(before: demand.changeIndex, keys) {
                _ = try await store.create(keys.entry(demand.changeIndex), Array(change))
            }
            // The entry that the server now has at this index counts.
            first = min(first, demand.changeIndex)
        } else if first == endOfMembership, !again {
            delivery.isMembershipEnd = true
            defer { hasToldEnd = demand.state == .comparing }
            return demand.state == .comparing && !hasToldEnd
        } else if demand.state == .current, !changes.isOfCircle {
            return false
        }
        var byteCount = 0
        var page: [StoredRecord]
        repeat {
            page = try await store.records(
                keys.membership, after: keys.entry(first - 1), limit: RecordLimits.pageCount)
            for record in page
            where record.key == keys.entry(first) && byteCount < Self.deliveryByteCount {
                delivery.membership.append(Self.data(record.value))
                byteCount += record.key.utf8.count + record.value.count
                first += 1
            }
            // The logs that were just read may refer to entries beyond this page.
        } while demand.state == .comparing && page.count >= RecordLimits.pageCount
            && page.last?.key == keys.entry(first - 1)
        if page.isEmpty, delivery.membership.isEmpty { delivery.isMembershipEnd = true }
        // If the keychain doesn't accept what was read, it is not read again.
        endOfMembership = demand.membershipIndex
        return true
    }

    /// Whether the server has the entry of the membership log before an index.
    private func hasMembership(before index: UInt64, _ keys: RecordKeys) async throws -> Bool {
        guard index > 1 else { return true }
        let previous = index > 2 ? keys.entry(index - 2) : nil
        let records = try await store.records(keys.membership, after: previous, limit: 1)
        return records.first?.key == keys.entry(index - 1)
    }

    private mutating func readLogs(
        _ demand: Demand, _ keys: RecordKeys, _ delivery: inout Delivery
    ) async throws -> Bool {
        var hasNews = false
        var byteCount = 0
        for position in demand.logs where byteCount < Self.deliveryByteCount {
            if demand.state == .current, position.machine == demand.machine { continue }
            let machine = Hexadecimal.text(position.machine.bytes)
            if demand.state == .current, let machines = changes.machines,
                !machines.contains(machine)
            {
                continue
            }
            guard offered.insert(position).inserted else {
                if ends.contains(position) { delivery.ends.append(position) }
                continue
            }
            hasNews = true
            let records = try await store.records(
                keys.log(machine), after: keys.entry(position.index - 1, of: machine),
                limit: RecordLimits.pageCount)
            guard let first = records.first, let index = RecordKeys.number(ofKey: first.key) else {
                ends.insert(position)
                delivery.ends.append(position)
                continue
            }
            if index > position.index {
                delivery.gaps.append(LogPosition(MachineID(position.machine), index))
            }
            // Entries that are left out here are read for the next delivery.
            for record in records where byteCount < Self.deliveryByteCount {
                delivery.entries.append(Self.data(record.value))
                byteCount += record.value.count
            }
        }
        return hasNews
    }

    private mutating func readHeads(
        _ demand: Demand, _ keys: RecordKeys, _ delivery: inout Delivery
    ) async throws -> Bool {
        guard demand.state == .current, changes.isOfCircle || !changes.heads.isEmpty,
            !hasOfferedHeads
        else { return false }
        hasOfferedHeads = true
        guard changes.isOfCircle else {
            var byteCount = 0
            for machine in changes.heads.sorted() where byteCount < RecordLimits.listByteCount {
                let records = try await store.records(
                    keys.head(of: machine), after: nil, limit: 1)
                for record in records where record.value.count <= RecordLimits.smallByteCount {
                    delivery.heads.append(Data(record.value))
                    byteCount += record.value.count
                }
            }
            return !delivery.heads.isEmpty
        }
        let heads = try await store.smallRecords(keys.heads)
        delivery.heads = heads.records.map { Data($0.value) }
        if heads.isAll { delivery.absenceLimit = absenceLimit }
        let requests = try await store.smallRecords(keys.tokenRequests)
        delivery.tokenRequests = requests.records.map { Data($0.value) }
        return !delivery.heads.isEmpty || !delivery.tokenRequests.isEmpty
    }

    private static func data(_ entry: [UInt8]) -> Data {
        Data(entry.prefix(RecordLimits.entryByteCount))
    }

    /// Deletes entries that are no longer needed, once the server has shown the last entry of the
    /// machine's own log, which may contain what replaces them.
    private mutating func tidy(
        _ demand: Demand, _ keys: RecordKeys, hasNews: Bool
    ) async throws {
        guard demand.state == .current, hasFoundOwnLog else { return }
        let own = Hexadecimal.text(demand.machine.bytes)
        if demand.firstNeeded > max(firstNeeded, 1) {
            firstNeeded = demand.firstNeeded
            try await store.delete(
                from: keys.log(own), to: keys.entry(demand.firstNeeded, of: own))
        }
        // What the keychain hasn't read yet may need a retired log.
        guard changes.machines == nil, !hasNews,
            demand.retired.contains(where: { !retired.contains($0) }),
            try await store.records(
                keys.membership, after: keys.entry(demand.membershipIndex - 1), limit: 1
            ).isEmpty
        else { return }
        for machine in demand.retired where retired.insert(machine).inserted {
            let log = keys.log(Hexadecimal.text(machine.bytes))
            try await store.delete(from: log, to: log + "g")
        }
    }
}
