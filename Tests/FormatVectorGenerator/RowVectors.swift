// RowVectors: Documentation/Formats/row-v1.md, "Sealed metadata" and "Sealed secret".

import FormatVectors
import FoundationEssentials
import KeychainCrypto
import KeychainCore
import KeychainSQLite

struct RowVectors {
    private let keychains: [KeyHierarchy]
    private let opened: [DeviceKeys]
    private let password: RowVector
    private let other: RowVector
    private let underPassword: PasswordRowVectors

    private static let reference = Example.counting(from: 0x10, count: 16)

    init(keychains: [KeyHierarchy]) throws {
        self.keychains = keychains
        opened = try keychains.map { try $0.openDeviceKeys() }
        let rows = Rows(keychains: keychains, opened: opened)
        password = try rows.row(
            "a generic password", RecordVectors.password, secret: Array("hunter2".utf8),
            reference: Self.reference, .whenUnlocked)
        other = try rows.row(
            "another row of the same keychain and class",
            ItemRecord(
                itemClass: .genericPassword, attributes: [.account: .string("bob")],
                accessGroup: "group", isSynchronizable: false, isTombstone: false),
            secret: Array("swordfish".utf8), reference: Example.counting(from: 0x20, count: 16),
            .whenUnlocked)
        underPassword = try PasswordRowVectors(rows)
    }

    var file: VectorFile<RowVector> {
        get throws {
            VectorFile(
                algorithm: "swift-keychain row",
                notes: [
                    "Binding": "A row with a column of another row, keychain or time.",
                    "Damage": "A row with some bytes changed.",
                    "Password": "A secret under an application password.",
                    "Opens": "A row as it was written.",
                ],
                keychains: try keychains.map {
                    try KeychainVector(
                        $0, deviceKey: SecretBytes(copying: Example.counting(from: 0)),
                        passcode: nil)
                },
                tests: try valid() + binding() + damage() + underPassword.tests())
        }
    }

    // MARK: Tests

    private func valid() throws -> [RowVector] {
        let rows = Rows(keychains: keychains, opened: opened)
        let reference = Example.counting(from: 0x30, count: 16)
        var web = RecordVectors.webPassword
        web.attributes[.label] = .string("Web")
        return [
            password, other,
            try rows.row(
                "an internet password without a secret", web, secret: nil, reference: reference,
                .afterFirstUnlock),
            try rows.row(
                "a certificate", RecordVectors.certificate, secret: [0x30, 0x00],
                reference: reference, .afterFirstUnlock),
            try rows.row(
                "a private key", RecordVectors.key, secret: Example.counting(from: 4, count: 97),
                reference: reference, .whenUnlockedThisDeviceOnly),
            try rows.row(
                "a private key under presence",
                RecordVectors.key.with(.userPresence), secret: Example.counting(from: 4, count: 97),
                reference: reference, .whenUnlockedThisDeviceOnly),
            try rows.row(
                "a tombstone", RecordVectors.tombstone, secret: nil, reference: reference,
                .whenUnlocked),
            try rows.row(
                "an empty secret", RecordVectors.password, secret: [], reference: reference,
                .always),
            try rows.row(
                "a secret of every byte, this device only", RecordVectors.password,
                secret: Example.counting(from: 0, count: 256), reference: reference,
                .alwaysThisDeviceOnly),
            try rows.row(
                "the same in another keychain", RecordVectors.password,
                secret: Array("hunter2".utf8), reference: Self.reference, .whenUnlocked,
                keychain: 1),
        ]
    }

    private func failing(
        _ comment: String, _ flag: String, _ failure: RowVector.Failure,
        _ change: (inout RowVector) -> Void
    ) -> RowVector {
        var row = password
        row.comment = comment
        row.flags = [flag]
        row.result = .invalid
        row.failure = failure
        row.plaintext = nil
        change(&row)
        if failure == .metadata { row.record = nil }
        return row
    }

    private func binding() throws -> [RowVector] {
        let rows = Rows(keychains: keychains, opened: opened)
        let earlier = try rows.row(
            "", RecordVectors.password, secret: Array("hunter1".utf8), reference: Self.reference,
            .whenUnlocked)
        let withoutSecret = try rows.row(
            "", RecordVectors.password, secret: nil, reference: Self.reference, .whenUnlocked)
        func half(_ row: RowVector, _ range: Range<Int>) -> [UInt8] {
            Array((row.secret?.bytes ?? [])[range])
        }
        let size = password.secret?.bytes.count ?? 0
        return [
            failing("another reference", "Binding", .metadata) { $0.uuid = other.uuid },
            failing("another protection class", "Binding", .metadata) { $0.protection = 7 },
            failing("another keychain's identifier", "Binding", .metadata) {
                $0.keychainID = Hex(keychains[1].keybag.keychainID)
            },
            failing("another keychain's keys", "Binding", .metadata) { $0.keychain = 1 },
            failing("another class's keys", "Binding", .metadata) { $0.keysOfProtection = 7 },
            failing("another group label", "Binding", .metadata) { $0.grp = other.grp },
            failing("another first key label", "Binding", .metadata) { $0.k1 = other.k1 },
            failing("another second key label", "Binding", .metadata) { $0.k2 = other.k2 },
            failing("another remaining key label", "Binding", .metadata) { $0.k3 = other.k3 },
            failing("no terms", "Binding", .metadata) { $0.terms = Hex([]) },
            failing("a term twice", "Binding", .metadata) {
                $0.terms = Hex($0.terms.bytes + $0.terms.bytes)
            },
            failing("first and second key label exchanged", "Binding", .metadata) {
                ($0.k1, $0.k2) = ($0.k2, $0.k1)
            },
            failing("the metadata of another row", "Binding", .metadata) { $0.meta = other.meta },
            failing("the secret of another row", "Binding", .secret) { $0.secret = other.secret },
            failing("an earlier secret of the same row", "Binding", .secret) {
                $0.secret = earlier.secret
            },
            failing("the metadata of an earlier state of the row", "Binding", .secret) {
                $0.meta = earlier.meta
                $0.record = earlier.record
            },
            failing("the row key of an earlier secret", "Binding", .secret) {
                $0.secret = Hex(half($0, 0..<12) + half(earlier, 12..<72) + half($0, 72..<size))
            },
            failing("the ciphertext of an earlier secret with this one's tag", "Binding", .secret) {
                $0.secret = Hex(
                    half(earlier, 0..<size - 16) + half($0, size - 16..<size))
            },
            failing("no secret where the metadata tell of one", "Binding", .secret) {
                $0.secret = nil
            },
            failing("a secret where the metadata tell of none", "Binding", .secret) {
                $0.meta = withoutSecret.meta
                $0.record = withoutSecret.record
            },
        ]
    }

    private func damage() -> [RowVector] {
        func changed(_ bytes: Hex?, _ offset: Int) -> Hex {
            var bytes = bytes?.bytes ?? []
            bytes[offset] ^= 1
            return Hex(bytes)
        }
        func meta(_ comment: String, _ change: (Hex) -> Hex) -> RowVector {
            failing(comment, "Damage", .metadata) { $0.meta = change($0.meta) }
        }
        func secret(_ comment: String, _ change: (Hex) -> Hex) -> RowVector {
            failing(comment, "Damage", .secret) { $0.secret = $0.secret.map(change) }
        }
        let metaSize = password.meta.bytes.count
        let secretSize = password.secret?.bytes.count ?? 0
        return [
            meta("the metadata's magic changed") { changed($0, 3) },
            meta("the metadata's size changed") { changed($0, 7) },
            meta("the metadata's nonce changed") { changed($0, 8) },
            meta("the metadata's ciphertext changed") { changed($0, 20) },
            meta("the metadata's tag changed") { changed($0, metaSize - 1) },
            meta("the metadata's last byte missing") { Hex($0.bytes.dropLast()) },
            meta("a byte after the metadata") { Hex($0.bytes + [0]) },
            meta("no metadata") { _ in Hex([]) },
            meta("the metadata's head only") { Hex($0.bytes.prefix(8)) },
            secret("the secret's magic changed") { changed($0, 3) },
            secret("the secret's size changed") { changed($0, 11) },
            secret("the high bytes of the secret's size changed") { changed($0, 4) },
            secret("the wrapped row key changed") { changed($0, 30) },
            secret("the secret's nonce changed") { changed($0, 72) },
            secret("the secret's ciphertext changed") { changed($0, 84) },
            secret("the secret's tag changed") { changed($0, secretSize - 1) },
            secret("the secret's last byte missing") { Hex($0.bytes.dropLast()) },
            secret("a byte after the secret") { Hex($0.bytes + [0]) },
            secret("no bytes in the secret") { _ in Hex([]) },
            secret("the secret's head only") { Hex($0.bytes.prefix(12)) },
        ]
    }

    // MARK: Example

    /// Test 1, with every input of the labels and all associated data.
    func exampleLines() throws -> [String] {
        let row = password
        let keychain = try KeychainVector(
            keychains[0], deviceKey: SecretBytes(copying: Example.counting(from: 0)),
            passcode: nil)
        guard let keys = keychain.classes.first(where: { $0.protection == row.protection }),
            let record = row.record, let secret = row.secret
        else { throw VectorFileError(reason: "the example has no secret") }
        var lines = Example.dump("keychain identifier", keychain.keychainID.bytes)
        func add(_ title: String, _ bytes: some Sequence<UInt8>) {
            lines += [""] + Example.dump(title, bytes)
        }
        add("index key", keychain.indexKey.bytes)
        add("class key of class 6", keys.classKey.bytes)
        add("metadata key of class 6", keys.metadataKey.bytes)
        add("uuid", row.uuid.bytes)

        let labels: [(String, Hex, [UInt8])] = [
            ("grp", row.grp, Self.input(3, "com.example.mail")),
            ("k1: svce = \"mail.example\"", row.k1, Self.input(1, "svce\0mail.example")),
            ("k2: acct = \"alice\"", row.k2, Self.input(1, "acct\0alice")),
            (
                "k3: access group, vwht, tkid, ggrp", row.k3,
                Self.input(
                    2,
                    "\0\0\0\u{10}com.example.mail" + "vwht\0\0\0\u{1}\0" + "tkid\0\0\0\u{1}\0"
                        + "ggrp\0\0\0\u{1}\0")
            ),
            ("terms: labl = \"Mail\"", row.terms, Self.input(1, "labl\0Mail")),
        ]
        let index = StoreAuthenticator(key: keychain.indexKey.secret)
        for (title, label, input) in labels {
            guard Array(index.tag(of: input).prefix(16)) == label.bytes else {
                throw VectorFileError(reason: "the example's input of \(title) is another one")
            }
            add("input of \(title)", input)
            add("label", label.bytes)
        }

        let data =
            Array("KCM1".utf8) + keychain.keychainID.bytes + row.uuid.bytes + [row.protection]
            + row.grp.bytes + row.k1.bytes + row.k2.bytes + row.k3.bytes + row.terms.bytes
        let metadata = try AuthenticatedEncryption.open(
            Data(row.meta.bytes.dropFirst(8)), using: keys.metadataKey.secret,
            authenticating: data)
        guard Array(metadata) == record.bytes else {
            throw VectorFileError(reason: "the example's metadata are other ones")
        }
        add("associated data of the metadata", data)
        add("meta", row.meta.bytes)
        add("record", record.bytes)

        let binding =
            keychain.keychainID.bytes + row.uuid.bytes + [row.protection] + Array("genp".utf8)
        let rowKey = try AuthenticatedEncryption.unwrap(
            Data(secret.bytes[12..<72]), using: keys.classKey.secret,
            authenticating: Array("KCRK".utf8) + binding)
        let plaintext = try AuthenticatedEncryption.open(
            Data(secret.bytes[72...]), using: rowKey,
            authenticating: Array("KCS1".utf8) + binding)
        add("secret", secret.bytes)
        add("associated data of the row key", Array("KCRK".utf8) + binding)
        add("row key", rowKey.plainBytes)
        add("associated data of the secret", Array("KCS1".utf8) + binding)
        add("opened secret, \"hunter2\"", plaintext)
        return lines + (try underPassword.exampleLines(keys: keys))
    }

    /// Domain, class `genp`, flags 0, and what follows.
    private static func input(_ domain: UInt8, _ rest: String) -> [UInt8] {
        [domain] + Array("genp".utf8) + [0] + Array(rest.utf8)
    }
}

extension ItemRecord {
    func with(_ constraints: AccessConstraints) -> ItemRecord {
        var record = self
        record.constraints = constraints
        return record
    }
}

/// Sealing rows as the engine does.
struct Rows {
    let keychains: [KeyHierarchy]
    let opened: [DeviceKeys]

    func row(
        _ comment: String, _ record: ItemRecord, secret: [UInt8]?, reference: [UInt8],
        _ protection: ProtectionClass, keychain: Int = 0, content: Data? = nil,
        applicationPassword: [UInt8]? = nil
    ) throws -> RowVector {
        guard let reference = ItemReference(bytes: reference),
            let keys = opened[keychain].classes[protection]
        else { throw VectorFileError(reason: "no keys for a row") }
        let keychainID = keychains[keychain].keybag.keychainID
        let labels = RowLabels(record, index: BlindIndex(key: opened[keychain].indexKey))
        var record = record
        let sealed = secret.map {
            RowSealing.seal(
                secret: content ?? Data($0), reference: reference, protection: protection,
                itemClass: record.itemClass, keychainID: keychainID, keys: keys)
        }
        record.secretTag = sealed?.tag
        let metadata = RowSealing.seal(
            record, reference: reference, protection: protection, labels: labels,
            keychainID: keychainID, keys: keys)
        return RowVector(
            comment, ["Opens"], keychain: keychain, keychainID: Hex(keychainID),
            uuid: Hex(reference.bytes), protection: protection.rawValue, grp: Hex(labels.group),
            k1: Hex(labels.first), k2: Hex(labels.second), k3: Hex(labels.rest),
            terms: Hex(labels.terms.flatMap(\.bytes)), meta: Hex(metadata),
            secret: sealed.map { Hex($0.bytes) },
            applicationPassword: applicationPassword.map { Hex($0) }, record: Hex(record.encoded()),
            plaintext: secret.map { Hex($0) })
    }
}
