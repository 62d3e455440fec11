// AnswerCoding: how messages encode answers to requests, progress, failures and entitlements.

#if canImport(Darwin)
import Foundation
#else
import FoundationEssentials
#endif

extension ItemSnapshot: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(
            itemClass, reference, attributes, accessGroup, protection, constraints,
            isSynchronizable, isTombstone, hasData, data)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            itemClass: try .init(from: &reader), reference: try .init(from: &reader),
            attributes: try .init(from: &reader), accessGroup: try .init(from: &reader),
            protection: try .init(from: &reader), constraints: try .init(from: &reader),
            isSynchronizable: try .init(from: &reader), isTombstone: try .init(from: &reader),
            hasData: try .init(from: &reader), data: try .init(from: &reader))
    }
}

extension Identity: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(certificate, key)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(certificate: try .init(from: &reader), key: try .init(from: &reader))
    }
}

extension MadeSecureEnclaveKey: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(blob, publicKey)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(blob: try .init(from: &reader), publicKey: try .init(from: &reader))
    }
}

extension KeychainStatus: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(
            directory, formatVersion, generation, itemCount, setAsideCount, hasPasscode, lockState,
            isMemoryLocked, byteCount, deviceKeyPath, deviceKeyProtection, verification, machine,
            whyNotBindable, deviceItemCount, hasRecoveryCode)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            directory: try .init(from: &reader), formatVersion: try .init(from: &reader),
            generation: try .init(from: &reader), itemCount: try .init(from: &reader),
            setAsideCount: try .init(from: &reader), hasPasscode: try .init(from: &reader),
            lockState: try .init(from: &reader), isMemoryLocked: try .init(from: &reader),
            byteCount: try .init(from: &reader), deviceKeyPath: try .init(from: &reader),
            deviceKeyProtection: try .init(from: &reader),
            verification: try .init(from: &reader), machine: try .init(from: &reader),
            whyNotBindable: try .init(from: &reader), deviceItemCount: try .init(from: &reader),
            hasRecoveryCode: try .init(from: &reader))
    }
}

extension ServiceStatistics: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(seconds, connectionCount, refusalCount, operations)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init()
        seconds = try .init(from: &reader)
        connectionCount = try .init(from: &reader)
        refusalCount = try .init(from: &reader)
        operations = try .init(from: &reader)
    }
}

extension ServiceStatistics.Operation: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(name, count, failureCount, longestMicroseconds, counts)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), count: try .init(from: &reader),
            failureCount: try .init(from: &reader), longestMicroseconds: try .init(from: &reader),
            counts: try .init(from: &reader))
    }
}

extension VerificationState: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(standing, moment, problem)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), at: try .init(from: &reader),
            problem: try .init(from: &reader))
    }
}

extension SlotSummary: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(number)
        writer.encode(kind, madeAt, opensPasscode, opensMachine)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            number: try reader.number(), kind: try .init(from: &reader),
            madeAt: try .init(from: &reader), opensPasscode: try .init(from: &reader),
            opensMachine: try .init(from: &reader))
    }
}

extension CheckReport: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(
            itemCount, lockedCount, damagedItems, problems, damagedPages, setAsideCount, notices)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init()
        itemCount = try .init(from: &reader)
        lockedCount = try .init(from: &reader)
        damagedItems = try .init(from: &reader)
        problems = try .init(from: &reader)
        damagedPages = try .init(from: &reader)
        setAsideCount = try .init(from: &reader)
        notices = try .init(from: &reader)
    }
}

extension CheckReport.DamagedItem: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(reference, what)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(reference: try .init(from: &reader), what: try .init(from: &reader))
    }
}

extension RequestProgress: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(done, total)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(done: try .init(from: &reader), total: try .init(from: &reader))
    }
}

// MARK: Failures

extension KeychainFailure: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(UInt32(bitPattern: status.rawValue))
        reason.encode(to: &writer)
        cause.encode(to: &writer)
        item.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let status = Status(rawValue: Int32(bitPattern: try reader.number()))
        self.init(
            status, try String(from: &reader), cause: try .init(from: &reader),
            item: try .init(from: &reader))
    }
}

extension KeychainFailure.Cause: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        switch self {
        case .other: writer.number(0 as UInt8)
        case .damage: writer.number(1 as UInt8)
        case .permission: writer.number(2 as UInt8)
        case .contention: writer.number(3 as UInt8)
        case .interruption: writer.number(4 as UInt8)
        case .authentication(let constraints):
            writer.number(5 as UInt8)
            constraints.encode(to: &writer)
        case .otherMachine: writer.number(6 as UInt8)
        }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        switch try reader.number() as UInt8 {
        case 0: self = .other
        case 1: self = .damage
        case 2: self = .permission
        case 3: self = .contention
        case 4: self = .interruption
        case 5: self = .authentication(try AccessConstraints(from: &reader))
        case 6: self = .otherMachine
        default: throw .unreadable("an unknown cause")
        }
    }
}

// MARK: Entitlements

extension Entitlements: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        accessGroups.encode(to: &writer)
        PropertyListValue.dictionary(values).encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let groups = try AccessGroups(from: &reader)
        guard case .dictionary(let values) = try PropertyListValue(from: &reader) else {
            throw .unreadable("entitlements that aren't a dictionary")
        }
        self.init(accessGroups: groups, values: values)
    }
}

extension PropertyListValue: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        switch self {
        case .text(let text):
            writer.number(0 as UInt8)
            text.encode(to: &writer)
        case .boolean(let boolean):
            writer.number(1 as UInt8)
            boolean.encode(to: &writer)
        case .integer(let integer):
            writer.number(2 as UInt8)
            writer.number(integer)
        case .real(let real):
            writer.number(3 as UInt8)
            real.encode(to: &writer)
        case .date(let date):
            writer.number(4 as UInt8)
            date.timeIntervalSinceReferenceDate.encode(to: &writer)
        case .data(let data):
            writer.number(5 as UInt8)
            data.encode(to: &writer)
        case .array(let values):
            writer.number(6 as UInt8)
            values.encode(to: &writer)
        case .dictionary(let values):
            writer.number(7 as UInt8)
            let sorted = values.sorted { $0.key < $1.key }
            sorted.map(\.key).encode(to: &writer)
            sorted.map(\.value).encode(to: &writer)
        }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        try self.init(from: &reader, depth: 0)
    }

    /// The maximum nesting depth. It is larger than that of any entitlements, and prevents a
    /// message from overflowing its reader's stack.
    package static let depthLimitInMessages = 40

    private init(from reader: inout MessageReader, depth: Int) throws(KeychainFailure) {
        guard depth <= Self.depthLimitInMessages else {
            throw .unreadable("a list that is nested too deeply")
        }
        switch try reader.number() as UInt8 {
        case 0: self = .text(try String(from: &reader))
        case 1: self = .boolean(try Bool(from: &reader))
        case 2: self = .integer(try reader.number())
        case 3: self = .real(try Double(from: &reader))
        case 4: self = .date(Date(timeIntervalSinceReferenceDate: try Double(from: &reader)))
        case 5: self = .data(try Data(from: &reader))
        case 6: self = .array(try Self.values(from: &reader, depth: depth + 1))
        case 7:
            let keys = try [String](from: &reader)
            let values = try Self.values(from: &reader, depth: depth + 1)
            guard keys.count == values.count, Set(keys).count == keys.count else {
                throw .unreadable("a dictionary with missing or repeated entries")
            }
            self = .dictionary(Dictionary(zip(keys, values)) { first, _ in first })
        default: throw .unreadable("a value of an unknown type")
        }
    }

    private static func values(
        from reader: inout MessageReader, depth: Int
    ) throws(KeychainFailure) -> [PropertyListValue] {
        var values: [PropertyListValue] = []
        for _ in 0..<(try reader.number() as UInt32) {
            try reader.countElement()
            values.append(try PropertyListValue(from: &reader, depth: depth))
        }
        return values
    }
}
