// PasswordRowVectors: Documentation/Formats/row-v1.md, "Secret under an application password".

import FormatVectors
import FoundationEssentials
import KeychainCrypto
import KeychainCore
import KeychainSQLite

struct PasswordRowVectors {
    private let rows: Rows
    private let example: RowVector

    private static let password = Array("correct horse".utf8)
    private static let secret = Array("hunter2".utf8)
    private static let reference = ItemReference(
        Bytes16(high: 0x4041_4243_4445_4647, low: 0x4849_4A4B_4C4D_4E4F))
    private static let protection = ProtectionClass.whenUnlocked
    private static let record = RecordVectors.password.with(.applicationPassword)
    /// Low, so that tests are quick.
    private static let cost = PasscodeCost(logN: 10, blockSize: 8, parallelism: 1)

    init(_ rows: Rows) throws {
        self.rows = rows
        example = try Self.row(rows, "a secret under an application password", Self.record)
    }

    // MARK: Tests

    func tests() throws -> [RowVector] {
        let both = RecordVectors.key.with([.devicePasscode, .applicationPassword])
        return [
            example,
            try row("the empty password", Self.record, password: []),
            try row("a password of zero bytes", Self.record, password: [0, 0]),
            try row(
                "a password longer than scrypt's HMAC takes whole", Self.record,
                password: Example.counting(from: 0, count: 200)),
            try row("an empty secret", Self.record, secret: []),
            try row("a key under passcode and password", both, secret: Self.secret),
            try row(
                "the password as the only one of or",
                Self.record.with([.applicationPassword, .or])),
            try row(
                "another cost", Self.record,
                cost: PasscodeCost(logN: 4, blockSize: 2, parallelism: 3)),
        ] + (try wrongPasswords()) + (try bindings()) + (try misshapen())
    }

    private func failing(
        _ row: RowVector, _ comment: String, _ failure: RowVector.Failure,
        password: [UInt8] = Self.password
    ) -> RowVector {
        var row = row
        row.comment = comment
        row.result = .invalid
        row.failure = failure
        row.plaintext = nil
        row.applicationPassword = Hex(password)
        return row
    }

    private func wrongPasswords() throws -> [RowVector] {
        let empty = try row("", Self.record, password: [])
        let long = Example.counting(from: 0, count: 200)
        let ofLong = try row("", Self.record, password: long)
        return [
            failing(
                example, "another password", .applicationPassword,
                password: Array("Correct horse".utf8)),
            failing(
                example, "the password and a zero byte", .applicationPassword,
                password: Self.password + [0]),
            failing(example, "the empty password", .applicationPassword, password: []),
            failing(
                empty, "a zero byte for the empty password", .applicationPassword, password: [0]),
            failing(
                ofLong, "the SHA-256 of the password", .applicationPassword,
                password: SecretBytes(copying: long).sha256),
        ]
    }

    /// Contents that were sealed for something else, in the sealed secret of the row.
    private func bindings() throws -> [RowVector] {
        func content(
            _ comment: String, keychainID: [UInt8]? = nil, reference: ItemReference? = nil,
            protection: ProtectionClass? = nil, itemClass: ItemClass? = nil,
            constraints: AccessConstraints? = nil
        ) throws -> RowVector {
            let sealed = try PasswordSealing.seal(
                Data(Self.secret), password: SecretBytes(copying: Self.password),
                cost: Self.cost,
                for: PasswordSealing.Binding(
                    keychainID: keychainID ?? rows.keychains[0].keybag.keychainID,
                    reference: reference ?? Self.reference,
                    protection: protection ?? Self.protection,
                    itemClass: itemClass ?? Self.record.itemClass,
                    constraints: constraints ?? Self.record.constraints))
            return failing(
                try row("", Self.record, content: sealed), comment, .applicationPassword)
        }
        return [
            try content(
                "a content of another keychain", keychainID: rows.keychains[1].keybag.keychainID),
            try content(
                "a content of another item",
                reference: ItemReference(Bytes16(high: 0, low: 0))),
            try content("a content of another protection class", protection: .always),
            try content("a content of another class", itemClass: .internetPassword),
            try content(
                "a content of other constraints",
                constraints: [.userPresence, .applicationPassword]),
        ]
    }

    private func misshapen() throws -> [RowVector] {
        let whole = Array(try content(Self.record, Self.secret, Self.password, Self.cost))
        func changed(_ comment: String, _ change: (inout [UInt8]) -> Void) throws -> RowVector {
            var bytes = whole
            change(&bytes)
            return failing(try row("", Self.record, content: Data(bytes)), comment, .secret)
        }
        func cost(_ logN: UInt8, _ r: UInt8, _ p: UInt8) throws -> RowVector {
            try changed("a cost of log2 N \(logN), r \(r), p \(p)") {
                $0.replaceSubrange(4..<7, with: [logN, r, p])
            }
        }
        let salt = try changed("") { $0[8] ^= 1 }
        let box = try changed("") { $0[40] ^= 1 }
        return [
            try changed("no content", { $0 = [] }),
            try changed("the secret itself", { $0 = Self.secret }),
            try changed("a content of 51 bytes", { $0 = Array($0.prefix(51)) }),
            try changed("another magic", { $0[3] ^= 1 }),
            try changed("a reserved byte that isn't zero", { $0[7] = 1 }),
            try cost(0, 8, 1), try cost(25, 8, 1), try cost(10, 0, 1), try cost(10, 33, 1),
            try cost(10, 8, 0), try cost(10, 8, 17), try cost(24, 8, 1), try cost(16, 1, 1),
            failing(salt, "another salt", .applicationPassword),
            failing(box, "a changed box", .applicationPassword),
        ]
    }

    // MARK: Parts

    private func row(
        _ comment: String, _ record: ItemRecord, secret: [UInt8] = Self.secret,
        password: [UInt8] = Self.password, cost: PasscodeCost = Self.cost, content: Data? = nil
    ) throws -> RowVector {
        try Self.row(
            rows, comment, record, secret: secret, password: password, cost: cost,
            content: content)
    }

    private static func row(
        _ rows: Rows, _ comment: String, _ record: ItemRecord, secret: [UInt8] = secret,
        password: [UInt8] = password, cost: PasscodeCost = cost, content: Data? = nil
    ) throws -> RowVector {
        var row = try rows.row(
            comment, record, secret: secret, reference: reference.bytes, protection,
            content: content ?? Self.content(rows, record, secret, password, cost),
            applicationPassword: password)
        row.flags = ["Password"]
        return row
    }

    private func content(
        _ record: ItemRecord, _ secret: [UInt8], _ password: [UInt8], _ cost: PasscodeCost
    ) throws -> Data {
        try Self.content(rows, record, secret, password, cost)
    }

    private static func content(
        _ rows: Rows, _ record: ItemRecord, _ secret: [UInt8], _ password: [UInt8],
        _ cost: PasscodeCost
    ) throws -> Data {
        try PasswordSealing.seal(
            Data(secret), password: SecretBytes(copying: password), cost: cost,
            for: PasswordSealing.Binding(
                keychainID: rows.keychains[0].keybag.keychainID, reference: reference,
                protection: protection, itemClass: record.itemClass,
                constraints: record.constraints))
    }

    // MARK: Example

    /// The steps from the content to the secret.
    func exampleLines(keys: ClassKeysVector) throws -> [String] {
        guard let secret = example.secret else {
            throw VectorFileError(reason: "the example has no secret")
        }
        let binding =
            example.keychainID.bytes + example.uuid.bytes + [example.protection]
            + Array(Self.record.itemClass.name.utf8)
        let rowKey = try AuthenticatedEncryption.unwrap(
            Data(secret.bytes[12..<72]), using: keys.classKey.secret,
            authenticating: Array("KCRK".utf8) + binding)
        let content = Array(
            try AuthenticatedEncryption.open(
                Data(secret.bytes[72...]), using: rowKey,
                authenticating: Array("KCS1".utf8) + binding))
        let digest = SecretBytes(copying: Self.password).digest
        let key = try Self.cost.deriveKey(from: digest, salt: Array(content[8..<24]))
        let data =
            Array("KCA1".utf8) + binding + bigEndianBytes(Self.record.constraints.rawValue)
        let opened = try AuthenticatedEncryption.open(
            Data(content[24...]), using: key, authenticating: data)
        var lines: [String] = []
        func add(_ title: String, _ bytes: some Sequence<UInt8>) {
            lines += [""] + Example.dump(title, bytes)
        }
        add("uuid of an item with accc 0x80000000", example.uuid.bytes)
        add("content of its secret, after the row key", content)
        add("SHA-256 of the application password, \"correct horse\"", digest.plainBytes)
        add("scrypt of it, N = 1024, r = 8, p = 1", key.plainBytes)
        add("associated data of the box", data)
        add("opened secret, \"hunter2\"", opened)
        return lines
    }
}
