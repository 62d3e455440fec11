// Stores: whole keychains for a reader of another language, with a list of what is in them.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainModel

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
            let account: String
            let service: String?
            let server: String?
            let group: String
            let secretBase64: String?

            enum CodingKeys: String, CodingKey {
                case account, service, server, group
                case `class`
                case secretBase64 = "secret_base64"
            }
        }

        let folder: String
        let passcode: String?
        let items: [Item]
    }

    private struct Sample {
        let itemClass: ItemClass
        let owner: String
        let account: String
        let secret: Data?
        let protection: ProtectionClass
    }

    private static let group = "example"

    private static let samples: [Sample] = [
        Sample(
            itemClass: .genericPassword, owner: "service", account: "plain",
            secret: Data("secret".utf8), protection: .always),
        Sample(
            itemClass: .genericPassword, owner: "service", account: "empty", secret: Data(),
            protection: .afterFirstUnlock),
        Sample(
            itemClass: .genericPassword, owner: "service", account: "none", secret: nil,
            protection: .whenUnlocked),
        Sample(
            itemClass: .genericPassword, owner: "Dienst ü", account: "übung\n\"quoted\"",
            secret: Data((0...255).map { UInt8($0) }), protection: .whenUnlockedThisDeviceOnly),
        Sample(
            itemClass: .internetPassword, owner: "example.com", account: "large",
            secret: Data(repeating: 0xA7, count: 100_000),
            protection: .afterFirstUnlockThisDeviceOnly),
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
                    itemClass: .genericPassword, owner: "service", account: "with passcode",
                    secret: Data(passcode.utf8), protection: .whenPasscodeSetThisDeviceOnly))
        }
        for sample in samples {
            let attributes: Attributes = [
                sample.itemClass.firstKey: .string(sample.owner),
                .account: .string(sample.account), .label: .string("label of " + sample.account),
                .creator: .number(7),
            ]
            _ = try engine.add(
                NewItem(
                    itemClass: sample.itemClass, attributes: attributes,
                    protection: sample.protection, data: sample.secret),
                as: AccessGroups([Self.group]))
        }
        // A connection that is closed folds the log into the database; one that is not leaves it.
        if leavesLog { open.append(engine) } else { engine.close() }
        return Expected(
            folder: folder, passcode: passcode,
            items: samples.map { sample in
                let isGeneric = sample.itemClass == .genericPassword
                return Expected.Item(
                    class: sample.itemClass.name, account: sample.account,
                    service: isGeneric ? sample.owner : nil,
                    server: isGeneric ? nil : sample.owner, group: Self.group,
                    secretBase64: sample.secret?.base64EncodedString())
            })
    }
}
