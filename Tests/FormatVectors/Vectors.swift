// Vectors: the tests of each vector file. The names of the fields are those in the documents. A
// field that is absent in an invalid test has no expected value.

/// Documentation/Formats/device-key-v1.md.
package struct DeviceKeyVector: FormatVector {
    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var file: Hex
    package var deviceKey: Hex?
    /// Whether both copies are intact.
    package var isWhole: Bool?

    package init(
        _ comment: String, _ flags: [String], _ result: VectorResult, file: Hex,
        deviceKey: Hex? = nil, isWhole: Bool? = nil
    ) {
        self.comment = comment
        self.flags = flags
        self.result = result
        self.file = file
        self.deviceKey = deviceKey
        self.isWhole = isWhole
    }
}

/// Documentation/Formats/device-key-v2.md.
package struct SealedDeviceKeyVector: FormatVector {
    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var file: Hex
    /// The sealed device key, as the hardware returned it.
    package var sealed: Hex?
    /// Whether both copies are intact.
    package var isWhole: Bool?

    package init(
        _ comment: String, _ flags: [String], _ result: VectorResult, file: Hex,
        sealed: Hex? = nil, isWhole: Bool? = nil
    ) {
        self.comment = comment
        self.flags = flags
        self.result = result
        self.file = file
        self.sealed = sealed
        self.isWhole = isWhole
    }
}

/// The two keys of a protection class.
package struct ClassKeysVector: Codable, Hashable, Sendable {
    package var protection: UInt8
    package var classKey: Hex
    package var metadataKey: Hex

    package init(protection: UInt8, classKey: Hex, metadataKey: Hex) {
        self.protection = protection
        self.classKey = classKey
        self.metadataKey = metadataKey
    }
}

/// A keybag with its content.
package struct KeychainVector: Codable, Hashable, Sendable {
    package var deviceKey: Hex
    package var keybag: Hex
    package var keychainID: Hex
    package var generation: UInt64
    package var indexKey: Hex
    package var integrityKey: Hex
    /// The keys of the classes that can be opened, in ascending order of the classes' numbers.
    package var classes: [ClassKeysVector]

    package init(
        deviceKey: Hex, keybag: Hex, keychainID: Hex, generation: UInt64, indexKey: Hex,
        integrityKey: Hex, classes: [ClassKeysVector]
    ) {
        self.deviceKey = deviceKey
        self.keybag = keybag
        self.keychainID = keychainID
        self.generation = generation
        self.indexKey = indexKey
        self.integrityKey = integrityKey
        self.classes = classes
    }
}

/// Documentation/Formats/keybag-v1.md.
package struct KeybagVector: FormatVector {
    /// The step at which opening a keybag fails.
    package enum Failure: String, Codable, Sendable {
        case malformed, newerVersion, inauthentic, wrongPasscode, missingKey
    }

    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var deviceKey: Hex
    package var keybag: Hex
    /// The bytes of the passcode. If absent, only the keys that need no passcode are opened.
    package var passcode: Hex?
    package var failure: Failure?
    package var opened: KeychainVector?

    package init(
        _ comment: String, _ flags: [String], deviceKey: Hex, keybag: Hex, passcode: Hex? = nil,
        opened: KeychainVector
    ) {
        self.comment = comment
        self.flags = flags
        result = .valid
        self.deviceKey = deviceKey
        self.keybag = keybag
        self.passcode = passcode
        self.opened = opened
    }

    package init(
        _ comment: String, _ flags: [String], deviceKey: Hex, keybag: Hex, passcode: Hex? = nil,
        failure: Failure
    ) {
        self.comment = comment
        self.flags = flags
        result = .invalid
        self.deviceKey = deviceKey
        self.keybag = keybag
        self.passcode = passcode
        self.failure = failure
    }
}

/// An attribute as stored in a record.
package struct FieldVector: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        case string, data, number, date
    }

    /// Four characters.
    package var name: String
    package var type: Kind
    /// The bytes of the value in the record.
    package var value: Hex

    package init(name: String, type: Kind, value: Hex) {
        self.name = name
        self.type = type
        self.value = value
    }
}

/// Documentation/Formats/row-v1.md and row-v2.md, "Labels". An invalid test has the label of a
/// different input.
package struct LabelVector: FormatVector {
    package enum Domain: String, Codable, Sendable {
        case attribute, remainingKey, accessGroup
        /// The domain that version 2 adds.
        case server
    }

    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var indexKey: Hex
    package var itemClass: String
    package var isSynchronizable: Bool
    package var isTombstone: Bool
    package var domain: Domain
    /// For the domain `attribute`, the attribute. For the domains `remainingKey` and `server`, the
    /// attributes that are set. Attributes that these labels don't cover have no effect.
    package var fields: [FieldVector]
    /// UTF-8. Absent for the label of an attribute or a server.
    package var accessGroup: Hex?
    package var label: Hex

    package init(
        _ comment: String, _ flags: [String], _ result: VectorResult = .valid, indexKey: Hex,
        itemClass: String, isSynchronizable: Bool = false, isTombstone: Bool = false,
        domain: Domain, fields: [FieldVector] = [], accessGroup: Hex? = nil, label: Hex
    ) {
        self.comment = comment
        self.flags = flags
        self.result = result
        self.indexKey = indexKey
        self.itemClass = itemClass
        self.isSynchronizable = isSynchronizable
        self.isTombstone = isTombstone
        self.domain = domain
        self.fields = fields
        self.accessGroup = accessGroup
        self.label = label
    }
}

/// The content of a record.
package struct RecordVector: Codable, Hashable, Sendable {
    package var itemClass: String
    package var accessGroup: Hex
    package var isSynchronizable: Bool
    package var isTombstone: Bool
    /// The number `accc`, 8 bytes. Absent if the item has no constraints.
    package var constraints: Hex?
    /// The field `bset`. Absent if the record has none.
    package var enrollment: Hex?
    /// The field `prog`, in UTF-8. Absent if the record has none.
    package var program: Hex?
    /// Absent if the item has no secret.
    package var secretTag: Hex?
    /// The attributes, in ascending order of their names.
    package var attributes: [FieldVector]

    package init(
        itemClass: String, accessGroup: Hex, isSynchronizable: Bool, isTombstone: Bool,
        constraints: Hex?, enrollment: Hex?, program: Hex?, secretTag: Hex?,
        attributes: [FieldVector]
    ) {
        self.itemClass = itemClass
        self.accessGroup = accessGroup
        self.isSynchronizable = isSynchronizable
        self.isTombstone = isTombstone
        self.constraints = constraints
        self.enrollment = enrollment
        self.program = program
        self.secretTag = secretTag
        self.attributes = attributes
    }
}

/// Documentation/Formats/row-v1.md, "Metadata".
package struct RecordEncodingVector: FormatVector {
    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var encoded: Hex
    package var record: RecordVector?

    package init(
        _ comment: String, _ flags: [String], _ result: VectorResult, encoded: Hex,
        record: RecordVector? = nil
    ) {
        self.comment = comment
        self.flags = flags
        self.result = result
        self.encoded = encoded
        self.record = record
    }
}

/// Documentation/Formats/row-v1.md: the columns of a row, and their decrypted content.
package struct RowVector: FormatVector {
    /// The part of the row that doesn't open. `applicationPassword` means that the class key opens
    /// the secret, but the content can't be authenticated under the application password: the
    /// password is wrong, or the content was changed or belongs to another row.
    package enum Failure: String, Codable, Sendable {
        case metadata, secret, applicationPassword
    }

    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    /// The index of the keychain in the file, from 0.
    package var keychain: Int
    package var keychainID: Hex
    package var uuid: Hex
    /// The class in the row. The row is opened with the keys of the class `keysOfProtection`.
    package var protection: UInt8
    package var keysOfProtection: UInt8
    package var grp: Hex
    package var k1: Hex
    package var k2: Hex
    package var k3: Hex
    package var terms: Hex
    package var meta: Hex
    /// Absent for NULL.
    package var secret: Hex?
    /// Absent if no application password is required.
    package var applicationPassword: Hex?
    package var failure: Failure?
    /// The decrypted metadata, absent if they don't open.
    package var record: Hex?
    /// The decrypted secret, absent if there is no secret or the secret doesn't open.
    package var plaintext: Hex?

    package init(
        _ comment: String, _ flags: [String], keychain: Int, keychainID: Hex, uuid: Hex,
        protection: UInt8, grp: Hex, k1: Hex, k2: Hex, k3: Hex, terms: Hex, meta: Hex,
        secret: Hex?, applicationPassword: Hex? = nil, record: Hex?, plaintext: Hex?
    ) {
        self.comment = comment
        self.flags = flags
        result = .valid
        self.keychain = keychain
        self.keychainID = keychainID
        self.uuid = uuid
        self.protection = protection
        keysOfProtection = protection
        self.grp = grp
        self.k1 = k1
        self.k2 = k2
        self.k3 = k3
        self.terms = terms
        self.meta = meta
        self.secret = secret
        self.applicationPassword = applicationPassword
        self.record = record
        self.plaintext = plaintext
    }
}

/// The part of a row that a digest covers.
package struct DigestRowVector: Codable, Hashable, Sendable {
    package var uuid: Hex
    /// The last 16 bytes of the sealed metadata.
    package var metadataTag: Hex

    package init(uuid: Hex, metadataTag: Hex) {
        self.uuid = uuid
        self.metadataTag = metadataTag
    }
}

/// Documentation/Formats/database-v1.md, "Header" and "Digest".
package struct HeaderVector: FormatVector {
    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var integrityKey: Hex
    package var header: Hex
    package var keychainID: Hex?
    package var generation: UInt64?
    package var itemCount: UInt64?
    package var setAsideCount: UInt64?
    package var keybagGeneration: UInt64?
    package var digest: Hex?
    /// The rows that the header's digest covers, in no particular order.
    package var rows: [DigestRowVector]?

    package init(
        _ comment: String, _ flags: [String], _ result: VectorResult, integrityKey: Hex,
        header: Hex
    ) {
        self.comment = comment
        self.flags = flags
        self.result = result
        self.integrityKey = integrityKey
        self.header = header
    }
}

/// Documentation/Formats/database-v1.md, "Anchor".
package struct AnchorVector: FormatVector {
    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var integrityKey: Hex
    package var file: Hex
    package var generation: UInt64?

    package init(
        _ comment: String, _ flags: [String], integrityKey: Hex, file: Hex, generation: UInt64?
    ) {
        self.comment = comment
        self.flags = flags
        result = generation == nil ? .invalid : .valid
        self.integrityKey = integrityKey
        self.file = file
        self.generation = generation
    }
}
