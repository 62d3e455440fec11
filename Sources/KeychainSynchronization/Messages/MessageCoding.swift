// MessageCoding: encodes the messages of synchronization, and those answers that have fields, in
// the same way as the service's protocol encodes values.
// Documentation/Formats/service-protocol-v2.md, "Values".

import FoundationEssentials
package import KeychainCore

extension SynchronizationMessage: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        switch self {
        case .status: writer.number(0 as UInt8)
        case .exchange(let delivery):
            writer.number(1 as UInt8)
            delivery.encode(to: &writer)
        case .found(let name):
            writer.number(2 as UInt8)
            name.encode(to: &writer)
        case .describe: writer.number(3 as UInt8)
        case .join(let membership):
            writer.number(4 as UInt8)
            membership.encode(to: &writer)
        case .recover(let membership):
            writer.number(5 as UInt8)
            membership.encode(to: &writer)
        case .add(let machine, let name, let groups):
            writer.number(6 as UInt8)
            machine.encode(to: &writer)
            name.encode(to: &writer)
            groups.encode(to: &writer)
        case .remove(let machine):
            writer.number(7 as UInt8)
            machine.encode(to: &writer)
        case .forget: writer.number(8 as UInt8)
        case .makeToken(let groups, let expires):
            writer.number(9 as UInt8)
            groups.encode(to: &writer)
            writer.number(expires)
        case .admit(let membership):
            writer.number(10 as UInt8)
            membership.encode(to: &writer)
        case .membershipHead: writer.number(11 as UInt8)
        }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        switch try reader.number() as UInt8 {
        case 0: self = .status
        case 1: self = .exchange(try .init(from: &reader))
        case 2: self = .found(name: try .init(from: &reader))
        case 3: self = .describe
        case 4: self = .join(membership: try .init(from: &reader))
        case 5: self = .recover(membership: try .init(from: &reader))
        case 6:
            self = .add(
                machine: try .init(from: &reader), name: try .init(from: &reader),
                groups: try .init(from: &reader))
        case 7: self = .remove(try .init(from: &reader))
        case 8: self = .forget
        case 9:
            self = .makeToken(groups: try .init(from: &reader), expires: try reader.number())
        case 10: self = .admit(membership: try .init(from: &reader))
        case 11: self = .membershipHead
        default: throw .unreadable("an unknown message of synchronization")
        }
    }
}

extension LogPosition: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        machine.encode(to: &writer)
        writer.number(index)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(MachineID(try .init(from: &reader)), try reader.number())
    }
}

extension Delivery: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        membership.encode(to: &writer)
        entries.encode(to: &writer)
        gaps.encode(to: &writer)
        ends.encode(to: &writer)
        isMembershipEnd.encode(to: &writer)
        heads.encode(to: &writer)
        tokenRequests.encode(to: &writer)
        writer.number(storedIndex)
        writer.number(absenceLimit)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init()
        membership = try .init(from: &reader)
        entries = try .init(from: &reader)
        gaps = try .init(from: &reader)
        ends = try .init(from: &reader)
        isMembershipEnd = try .init(from: &reader)
        heads = try .init(from: &reader)
        tokenRequests = try .init(from: &reader)
        storedIndex = try reader.number()
        absenceLimit = try reader.number()
    }
}

extension Demand: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        state.encode(to: &writer)
        circle.encode(to: &writer)
        machine.encode(to: &writer)
        writer.number(membershipIndex)
        logs.encode(to: &writer)
        entry.encode(to: &writer)
        writer.number(entryIndex)
        writer.number(firstNeeded)
        change.encode(to: &writer)
        writer.number(changeIndex)
        head.encode(to: &writer)
        retired.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
        circle = try .init(from: &reader)
        machine = try .init(from: &reader)
        membershipIndex = try reader.number()
        logs = try .init(from: &reader)
        entry = try .init(from: &reader)
        entryIndex = try reader.number()
        firstNeeded = try reader.number()
        change = try .init(from: &reader)
        changeIndex = try reader.number()
        head = try .init(from: &reader)
        retired = try .init(from: &reader)
    }
}

extension MembershipHead: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(head.index)
        Data(head.digest.bytes).encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let index: UInt64 = try reader.number()
        guard let digest = Digest(try Data(from: &reader)) else {
            throw .unreadable("a head of the membership log")
        }
        self.init(LogHead(index: index, digest: digest))
    }
}

extension CircleStatus.Machine: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        id.encode(to: &writer)
        name.encode(to: &writer)
        isThisOne.encode(to: &writer)
        seesAllGroups.encode(to: &writer)
        writer.number(seen)
        isSuspended.encode(to: &writer)
        writer.number(withheldCount)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            id: try .init(from: &reader), name: try .init(from: &reader),
            isThisOne: try .init(from: &reader), seesAllGroups: try .init(from: &reader),
            seen: try reader.number(), isSuspended: try .init(from: &reader),
            withheldCount: try reader.number())
    }
}

extension SynchronizedItem.ReasonToStay: CodedByPosition {}

extension StayingItems: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        reason.encode(to: &writer)
        count.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(reason: try .init(from: &reader), count: try .init(from: &reader))
    }
}

extension CircleStatus: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        state.encode(to: &writer)
        circle.encode(to: &writer)
        machines.encode(to: &writer)
        hasRecoveryCode.encode(to: &writer)
        isChangeWaiting.encode(to: &writer)
        isOwnLogMissing.encode(to: &writer)
        waitingCount.encode(to: &writer)
        waitingSince.encode(to: &writer)
        staying.encode(to: &writer)
        notices.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
        circle = try .init(from: &reader)
        machines = try .init(from: &reader)
        hasRecoveryCode = try .init(from: &reader)
        isChangeWaiting = try .init(from: &reader)
        isOwnLogMissing = try .init(from: &reader)
        waitingCount = try .init(from: &reader)
        waitingSince = try .init(from: &reader)
        staying = try .init(from: &reader)
        notices = try .init(from: &reader)
    }
}
