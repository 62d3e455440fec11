// Stores: whole keychains with a list of their contents, for the tests of an implementation in
// another language.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite

final class Stores {
    private let directory: String
    /// Engines that stay open until the process ends without closing them.
    private var open: [KeychainEngine] = []

    init(directory: String) {
        self.directory = directory
    }

    private struct Expected: Encodable {
        struct Item: Encodable {
            let `class`: String
            /// The values of the first two key attributes of the class, in base64.
            let firstBase64: String
            let secondBase64: String
            let group: String
            let constraints: UInt64
            let secretBase64: String?

            enum CodingKeys: String, CodingKey {
                case group, constraints
                case `class`
                case firstBase64 = "first_base64"
                case secondBase64 = "second_base64"
                case secretBase64 = "secret_base64"
            }
        }

        enum CodingKeys: String, CodingKey {
            case folder, passcode, items
            case applicationPassword = "application_password"
        }

        let folder: String
        let passcode: String?
        let applicationPassword: String
        let items: [Item]
    }

    private struct Sample {
        let itemClass: ItemClass
        let first: String
        let second: String
        let secret: Data?
        let protection: ProtectionClass
        var constraints: AccessConstraints = []
        var more: Attributes = [:]

        /// All attributes of the item. The values of the key attributes are data if the attribute
        /// accepts only data, and text otherwise.
        var attributes: Attributes {
            func value(_ text: String, _ attribute: Attribute) -> AttributeValue {
                attribute.kind == .data ? .data(Data(text.utf8)) : .string(text)
            }
            var attributes = more
            attributes[itemClass.firstKey] = value(first, itemClass.firstKey)
            attributes[itemClass.secondKey] = value(second, itemClass.secondKey)
            attributes[.label] = .string("label of " + second)
            return attributes
        }
    }

    private static let group = "example"
    private static let applicationPassword = "battery staple"

    private static let samples: [Sample] = [
        Sample(
            itemClass: .genericPassword, first: "service", second: "plain",
            secret: Data("secret".utf8), protection: .always, more: [.creator: .number(7)]),
        Sample(
            itemClass: .genericPassword, first: "service", second: "empty", secret: Data(),
            protection: .afterFirstUnlock),
        Sample(
            itemClass: .genericPassword, first: "service", second: "none", secret: nil,
            protection: .whenUnlocked),
        Sample(
            itemClass: .genericPassword, first: "Dienst ü", second: "übung\n\"quoted\"",
            secret: Data((0...255).map { UInt8($0) }), protection: .whenUnlockedThisDeviceOnly),
        Sample(
            itemClass: .internetPassword, first: "example.com", second: "large",
            secret: Data(repeating: 0xA7, count: 100_000),
            protection: .afterFirstUnlockThisDeviceOnly),
        Sample(
            itemClass: .certificate, first: "issuer", second: "serial",
            secret: Data([0x30, 0x00]), protection: .always,
            more: RecordVectors.certificate.attributes),
        Sample(
            itemClass: .key, first: "public key hash", second: "tag",
            secret: Data(repeating: 4, count: 97), protection: .whenUnlocked,
            more: RecordVectors.key.attributes),
        Sample(
            itemClass: .genericPassword, first: "service", second: "under a password",
            secret: Data("secret".utf8), protection: .always, constraints: .applicationPassword),
        Sample(
            itemClass: .key, first: "another hash", second: "tag",
            secret: Data(repeating: 5, count: 97), protection: .whenUnlocked,
            constraints: [.applicationPassword, .privateKeyUsage],
            more: RecordVectors.key.attributes),
    ]

    func write() throws {
        let all = try [
            keychain("plain", passcode: nil, leavesLog: false),
            keychain("log", passcode: nil, leavesLog: true),
            keychain("passcode", passcode: "correct horse", leavesLog: false),
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(all).write(to: URL(filePath: directory + "/expected.json"))
        print("\(all.count) keychains in \(directory)")
    }

    /// Stores an earlier version of a deleted item, and a setting of how many versions are kept and
    /// for how long. An implementation that reads items ignores both.
    private func keepVersion(in engine: KeychainEngine) throws {
        let caller = AccessGroups([Self.group])
        _ = try engine.perform(
            SetHistory(HistoryPolicy(count: 5, days: 7, isForAll: false)), as: caller)
        let name: Attributes = [.service: .string("service"), .account: .string("deleted")]
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: name, protection: .whenUnlocked,
                    data: Data("deleted".utf8))), as: caller)
        let query = ItemQuery(itemClass: .genericPassword, attributes: name)
        _ = try engine.perform(
            DeleteItems(query, tombstones: .automatic, keepsVersions: true), as: caller)
    }

    private func keychain(
        _ folder: String, passcode: String?, leavesLog: Bool
    ) throws -> Expected {
        let path = directory + "/" + folder
        let engine = try KeychainEngine.open(directory: path, options: .testing)
        if let passcode { try engine.setPasscode(SecretBytes(copying: Array(passcode.utf8))) }
        var samples = Self.samples
        if let passcode {
            samples.append(
                Sample(
                    itemClass: .genericPassword, first: "service", second: "with passcode",
                    secret: Data(passcode.utf8), protection: .whenPasscodeSetThisDeviceOnly))
            samples.append(
                Sample(
                    itemClass: .genericPassword, first: "service", second: "presence",
                    secret: Data(passcode.utf8), protection: .whenUnlocked,
                    constraints: .userPresence))
        }
        for sample in samples {
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: sample.itemClass, attributes: sample.attributes,
                        protection: sample.protection, constraints: sample.constraints,
                        data: sample.secret,
                        authorization: Authorization(
                            applicationPassword: Data(Self.applicationPassword.utf8)))),
                as: AccessGroups([Self.group]))
        }
        try keepVersion(in: engine)
        // Closing the engine moves the write-ahead log into the database. If the engine stays open,
        // the log stays.
        if leavesLog { open.append(engine) } else { engine.close() }
        return Expected(
            folder: folder, passcode: passcode, applicationPassword: Self.applicationPassword,
            items: samples.map { sample in
                Expected.Item(
                    class: sample.itemClass.name,
                    firstBase64: Data(sample.first.utf8).base64EncodedString(),
                    secondBase64: Data(sample.second.utf8).base64EncodedString(),
                    group: Self.group, constraints: sample.constraints.rawValue,
                    secretBase64: sample.secret?.base64EncodedString())
            })
    }
}
