// ItemRecord: the metadata of an item, without its secret, before sealing and after opening.
// Documentation/Formats/row-v1.md, "Metadata".
//   (1) The encoding is canonical: attributes in ascending order of their names, each once.
//       `init(decoding:)` refuses bytes that `encoded()` would not return.

package import FoundationEssentials
package import KeychainCore

/// The metadata of an item.
package struct ItemRecord: Hashable, Sendable {
    package var itemClass: ItemClass
    package var attributes: Attributes
    package var accessGroup: String
    /// Conditions for opening the secret, in addition to the item's protection class.
    package var constraints: AccessConstraints
    /// The identifier of the biometric enrollment at the time that ``constraints`` was last set, 1
    /// to 64 bytes. `nil` without ``AccessConstraints/biometryCurrentSet``, or if there was no
    /// enrollment at that time.
    package var enrollment: Data?
    /// The name of the program that added the item, 1 to 255 bytes, if the program had no
    /// entitlements and its name is known. `nil` in the tombstone that a deletion leaves.
    package var program: String?
    package var isSynchronizable: Bool
    package var isTombstone: Bool
    /// The tag of the sealed secret, 16 bytes, which binds the secret to the metadata. `nil` if
    /// there is no secret.
    package var secretTag: [UInt8]?

    /// A modification date that has reached this value, in seconds since 2001-01-01, counts as
    /// wrong. Far beyond it, a `Double` can't express the next millisecond, so a later change could
    /// not get a later date.
    package static let dateLimit = 1e12

    package init(
        itemClass: ItemClass, attributes: Attributes, accessGroup: String,
        constraints: AccessConstraints = [], enrollment: Data? = nil, program: String? = nil,
        isSynchronizable: Bool, isTombstone: Bool, secretTag: [UInt8]? = nil
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.constraints = constraints
        self.enrollment = enrollment
        self.program = program
        self.isSynchronizable = isSynchronizable
        self.isTombstone = isTombstone
        self.secretTag = secretTag
    }

    /// An attribute that the class doesn't have, or whose value has the wrong type; `nil` if there
    /// is none. A row with such an attribute could never be read again.
    package var misfit: Attribute? {
        attributes.first { !Self.isFit($0.key, $0.value, for: itemClass) }?.key
    }

    private static func isFit(
        _ attribute: Attribute, _ value: AttributeValue, for itemClass: ItemClass
    ) -> Bool {
        itemClass.has(attribute) && value.converted(to: attribute.kind) == value
    }

    // Names of the fields that are encoded among the attributes.
    private static let constraintsName: UInt32 = 0x6163_6363  // accc
    private static let accessGroupName: UInt32 = 0x6167_7270  // agrp
    private static let enrollmentName: UInt32 = 0x6273_6574  // bset
    private static let programName: UInt32 = 0x7072_6F67  // prog
    private static let synchronizableName: UInt32 = 0x7379_6E63  // sync
    private static let tombstoneName: UInt32 = 0x746F_6D62  // tomb
    private static let version: UInt8 = 1

    /// The permitted sizes of an enrollment's identifier, in bytes.
    package static let enrollmentSizes = 1...64

    private enum ValueType: UInt8 {
        case string = 1
        case data = 2
        case number = 3
        case date = 4
    }

    // MARK: Encoding

    package func encoded() -> [UInt8] {
        var fields: [(name: UInt32, value: AttributeValue)] = attributes.map {
            ($0.key.rawValue, $0.value)
        }
        fields.append((Self.accessGroupName, .string(accessGroup)))
        fields.append((Self.synchronizableName, .number(isSynchronizable ? 1 : 0)))
        fields.append((Self.tombstoneName, .number(isTombstone ? 1 : 0)))
        if !constraints.isEmpty {
            fields.append(
                (Self.constraintsName, .number(Int64(bitPattern: constraints.rawValue))))
        }
        if let enrollment { fields.append((Self.enrollmentName, .data(enrollment))) }
        if let program { fields.append((Self.programName, .string(program))) }
        fields.sort { $0.name < $1.name }

        var writer = ByteWriter(capacity: 256)
        writer.number(Self.version)
        writer.number(itemClass.rawValue)
        writer.number(UInt8(secretTag == nil ? 0 : 1))
        writer.bytes(secretTag ?? [])
        writer.number(UInt16(truncatingIfNeeded: fields.count))
        for field in fields {
            writer.number(field.name)
            switch field.value {
            case .string(let text):
                let bytes = Array(text.utf8)
                Self.writeHead(.string, bytes.count, to: &writer)
                writer.bytes(bytes)
            case .data(let data):
                Self.writeHead(.data, data.count, to: &writer)
                writer.bytes(data)
            case .number(let number):
                Self.writeHead(.number, 8, to: &writer)
                writer.number(number)
            case .date(let seconds):
                Self.writeHead(.date, 8, to: &writer)
                writer.number(seconds.bitPattern)
            }
        }
        return writer.result
    }

    private static func writeHead(_ type: ValueType, _ count: Int, to writer: inout ByteWriter) {
        writer.number(type.rawValue)
        writer.number(UInt32(truncatingIfNeeded: count))
    }

    // MARK: Decoding

    /// - Returns: `nil` if the bytes are not exactly the result of ``encoded()``, or if they
    ///   contain an attribute, a constraint or a size that isn't permitted.
    package init?(decoding bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let version: UInt8 = reader.number(), version == Self.version,
            let code: UInt32 = reader.number(), let itemClass = ItemClass(rawValue: code),
            let hasSecret: UInt8 = reader.number(), hasSecret <= 1
        else { return nil }
        var tag: [UInt8]?
        if hasSecret == 1 {
            guard let bytes = reader.bytes(16) else { return nil }
            tag = bytes
        }
        guard let count: UInt16 = reader.number() else { return nil }
        self.init(
            itemClass: itemClass, attributes: Attributes(minimumCapacity: Int(count)),
            accessGroup: "", isSynchronizable: false, isTombstone: false, secretTag: tag)
        var previous: UInt32 = 0
        var special = 0
        for _ in 0..<count {
            guard let name: UInt32 = reader.number(), name > previous,
                let value = Self.readValue(&reader)
            else { return nil }
            previous = name
            switch (name, value) {
            case (Self.accessGroupName, .string(let group)):
                accessGroup = group
                special += 1
            case (Self.constraintsName, .number(let bits)):
                constraints = AccessConstraints(rawValue: UInt64(bitPattern: bits))
                guard !constraints.isEmpty, constraints.isSubset(of: .known) else { return nil }
            case (Self.enrollmentName, .data(let bytes)):
                // Names are in ascending order, so the constraints have already been decoded.
                guard constraints.contains(.biometryCurrentSet),
                    Self.enrollmentSizes.contains(bytes.count)
                else { return nil }
                enrollment = bytes
            case (Self.programName, .string(let text)):
                guard AccessGroups.programSizes.contains(text.utf8.count) else { return nil }
                program = text
            case (Self.synchronizableName, .number(let flag)) where flag == 0 || flag == 1:
                isSynchronizable = flag == 1
                special += 1
            case (Self.tombstoneName, .number(let flag)) where flag == 0 || flag == 1:
                isTombstone = flag == 1
                special += 1
            default:
                guard let attribute = Attribute(rawValue: name),
                    Self.isFit(attribute, value, for: itemClass)
                else { return nil }
                attributes[attribute] = value
            }
        }
        guard special == 3, reader.isAtEnd else { return nil }
    }

    private static func readValue(_ reader: inout ByteReader) -> AttributeValue? {
        guard let type = reader.number().flatMap(ValueType.init(rawValue:)),
            let count: UInt32 = reader.number(), let length = Int(exactly: count)
        else { return nil }
        switch type {
        case .string:
            return reader.text(length).map { .string($0) }
        case .data:
            return reader.slice(length).map { .data(Data($0)) }
        case .number:
            guard length == 8, let number: Int64 = reader.number() else { return nil }
            return .number(number)
        case .date:
            guard length == 8, let bits: UInt64 = reader.number() else { return nil }
            return .date(Double(bitPattern: bits))
        }
    }
}
