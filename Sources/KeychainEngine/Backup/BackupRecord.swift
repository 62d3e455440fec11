// BackupRecord: the lines of a backup. Each is a JSON object with one member, whose name is the
// type of the line. Documentation/Formats/backup-v1.md.
//   (1) The contents of a line are checked when it becomes an item. They are not trusted, because
//       anyone who knows an age recipient (a public key) can write a file that the matching age
//       identity (the private key) opens.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite

/// The reason why an item is not in a backup, or was not restored from one.
package enum BackupOmission: String, Codable, Hashable, Sendable, CaseIterable {
    /// The item exists only while a passcode is set on its device.
    case passcodeBound
    /// The item's key is in hardware, or the item belongs to a token.
    case hardware
    /// The item is marked as bound to its system, or is in the group `lockdown-identities`.
    case systemBound
    /// The item is *this device only*, and the device has neither a chip nor a permanent identity.
    case unidentifiedMachine
    /// The item is *this device only*, and the item or the keychain is bound to another device, or
    /// to a chip that can't be used now.
    case otherMachine
    /// The item's secret is sealed with an application password. The secret can be opened only in
    /// the keychain and under the reference that it was sealed for.
    case applicationPassword
    /// The item requires presence or the passcode, but the keychain has neither a passcode nor
    /// another way in.
    case passcodeNeeded
    /// The item is damaged.
    case damaged
}

/// An item as the report of a backup or a restore lists it and, if the item was left out, the
/// reason.
package struct BackupName: Hashable, Sendable {
    /// The item without its secret; `nil` if only its reference is known.
    package let item: ItemSnapshot?
    package let reference: ItemReference
    package let omission: BackupOmission?
}

struct BackupLine: Codable {
    var head: BackupHead?
    var machine: BackupMachine?
    var item: BackupItem?
    var deviceItem: BackupDeviceItem?
    var leftOut: BackupLeftOut?
    var end: BackupEnd?

    /// The number of members that are set. A valid line has one.
    var memberCount: Int {
        [
            head != nil, machine != nil, item != nil, deviceItem != nil, leftOut != nil,
            end != nil,
        ].count { $0 }
    }

    /// The line as JSON, with a newline at its end. The caller erases the bytes.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + [UInt8(ascii: "\n")]
    }
}

struct BackupHead: Codable, Hashable {
    static let format = "swift-keychain backup"

    var format = Self.format
    var version = 1
    /// In seconds since 2001-01-01.
    var created: Double
    /// The identifier of the keychain, 16 bytes.
    var keychain: Data
}

struct BackupEnd: Codable, Hashable {
    var items = 0
    var deviceItems = 0
    var leftOut = 0

    var total: Int { items + deviceItems + leftOut }
}

/// The value of an attribute: exactly one of four types.
struct BackupValue: Codable, Hashable {
    var string: String?
    var data: Data?
    var number: Int64?
    var date: Double?

    init(_ value: AttributeValue) {
        switch value {
        case .string(let text): string = text
        case .data(let bytes): data = bytes
        case .number(let value): number = value
        case .date(let seconds): date = seconds
        }
    }

    /// The attribute value; `nil` unless exactly one member is set.
    var value: AttributeValue? {
        let values: [AttributeValue] = [
            string.map { .string($0) }, data.map { .data($0) }, number.map { .number($0) },
            date.map { .date($0) },
        ].compactMap { $0 }
        return values.count == 1 ? values[0] : nil
    }
}

struct BackupItem: Codable, Hashable {
    var itemClass: String
    var reference: String
    var group: String
    var accessible: String
    var synchronizable: Bool?
    var constraints: UInt64?
    var enrollment: Data?
    var program: String?
    var attributes: [String: BackupValue]
    var data: Data?
    /// Whether `data` is sealed with an application password.
    var passwordSealed: Bool?

    enum CodingKeys: String, CodingKey {
        case itemClass = "class"
        case reference, group, accessible, synchronizable, constraints, enrollment, program
        case attributes, data, passwordSealed
    }

    init(
        _ record: ItemRecord, _ reference: ItemReference, _ protection: ProtectionClass,
        data: Data?
    ) {
        itemClass = record.itemClass.name
        self.reference = reference.description
        group = record.accessGroup
        accessible = protection.code
        synchronizable = record.isSynchronizable ? true : nil
        constraints = record.constraints.isEmpty ? nil : record.constraints.rawValue
        enrollment = record.enrollment
        program = record.program
        attributes = Dictionary(
            uniqueKeysWithValues: record.attributes.map { ($0.key.name, BackupValue($0.value)) })
        self.data = data
        passwordSealed =
            data != nil && record.constraints.requiresApplicationPassword ? true : nil
    }

    /// A copy that contains only class, group, reference, protection class, synchronizability,
    /// label and primary key.
    var name: BackupItem {
        var name = self
        let shown = ItemClass(name: itemClass).map {
            Set(($0.primaryKey + [.label]).map(\.name))
        }
        name.attributes = attributes.filter { shown?.contains($0.key) ?? false }
        name.constraints = nil
        name.enrollment = nil
        name.program = nil
        name.data = nil
        name.passwordSealed = nil
        return name
    }

    /// The item; `nil` if its contents are not valid for a keychain item.
    var restored: RestoredItem? {
        guard let itemClass = ItemClass(name: itemClass),
            let reference = ItemReference(hexadecimal: reference),
            let protection = ProtectionClass(code: accessible)
        else { return nil }
        var values = Attributes(minimumCapacity: attributes.count)
        for (name, value) in attributes {
            guard let attribute = Attribute(name: name), let value = value.value else { return nil }
            values[attribute] = value
        }
        let constraints = AccessConstraints(rawValue: constraints ?? 0)
        guard constraints.isSubset(of: .known) else { return nil }
        let record = ItemRecord(
            itemClass: itemClass, attributes: values, accessGroup: group, constraints: constraints,
            enrollment: enrollment, program: program, isSynchronizable: synchronizable ?? false,
            isTombstone: false)
        guard record.misfit == nil,
            enrollment == nil
                || constraints.contains(.biometryCurrentSet)
                    && ItemRecord.enrollmentSizes.contains(enrollment?.count ?? 0),
            program.map({ (1...255).contains($0.utf8.count) }) ?? true,
            (passwordSealed ?? false)
                == (data != nil && constraints.requiresApplicationPassword),
            data == nil || passwordSealed != true || PasswordSealing.isWellFormed(data ?? Data())
        else { return nil }
        return RestoredItem(
            record: record, reference: reference, protection: protection, data: data,
            isPasswordSealed: passwordSealed ?? false)
    }
}

/// A *this device only* item: its name, and the whole item, which is sealed for its device in
/// addition to the encryption of the backup.
struct BackupDeviceItem: Codable, Hashable {
    var name: BackupItem
    var sealed: Data

    /// The associated data of `sealed`.
    static func binding(_ reference: String) -> [UInt8] {
        Array("backup device item ".utf8) + Array(reference.utf8)
    }
}

struct BackupLeftOut: Codable, Hashable {
    /// `nil` if only the reference is known, since the item is damaged or only another device can
    /// open it.
    var name: BackupItem?
    var reference: String
    var reason: BackupOmission
}

/// An item of a backup. `BackupItem.restored` makes one only if the attributes are valid for the
/// item's class.
struct RestoredItem {
    var record: ItemRecord
    let reference: ItemReference
    let protection: ProtectionClass
    let data: Data?
    let isPasswordSealed: Bool

    var modified: Double {
        if case .date(let seconds) = record.attributes[.modificationDate] { seconds } else { 0 }
    }

    /// Whether a backup may contain the item: it has both dates and a valid group, it is not a key
    /// in hardware or an item of a token, and it is not both synchronizable and under constraints
    /// that require authentication. Its protection class and the validity of its attributes are
    /// checked elsewhere.
    var isStorable: Bool {
        guard case .date = record.attributes[.creationDate],
            case .date = record.attributes[.modificationDate]
        else { return false }
        return !record.isOfSecureEnclave && record.attributes[.tokenID] == nil
            && !record.accessGroup.isEmpty && record.accessGroup != AccessGroups.wildcard
            && !(record.isSynchronizable && record.constraints.needsAuthentication)
    }

    func name(_ omission: BackupOmission?) -> BackupName {
        let snapshot = ItemSnapshot(
            itemClass: record.itemClass, reference: reference, attributes: record.attributes,
            accessGroup: record.accessGroup, protection: protection,
            constraints: record.constraints, isSynchronizable: record.isSynchronizable,
            isTombstone: false, hasData: data != nil)
        return BackupName(item: snapshot, reference: reference, omission: omission)
    }
}

extension ItemReference {
    /// Parses the 32 hexadecimal digits of ``description``.
    package init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 2 * Self.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(text.dropFirst(index).prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
        }
        self.init(bytes: bytes)
        guard description == text else { return nil }
    }
}
