// IndependentReader: what the reader in Documentation/Formats/reader, which is based on the
// documents alone, finds in the records that are in etcd.

#if Synchronization

import EtcdTestSupport
import Foundation
import KeychainCore

/// The output of the reader for the records of a circle.
struct IndependentReader: Decodable {
    let items: [Item]
    let machines: [Machine]
    let verification: Verification

    struct Item: Decodable {
        let attributes: Attributes
        let protection: Int
        private let valueBase64: String?

        struct Attributes: Decodable {
            let acct: Text
        }

        struct Text: Decodable {
            let value: String
        }

        var value: String? {
            valueBase64.flatMap { Data(base64Encoded: $0) }
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }

    struct Machine: Decodable {
        let name: String?
    }

    struct Verification: Decodable {
        let isSound: Bool
        let problems: [Statement]
        let notices: [Statement]
    }

    struct Statement: Decodable {
        let text: String
    }

    /// The values of all items, by account.
    var values: [String: String] {
        Dictionary(items.map { ($0.attributes.acct.value, $0.value ?? "") }) { $0 + "," + $1 }
    }

    /// Reads the records of the only circle below a prefix of a cluster, with the keys of a member.
    ///
    /// - Throws: ``MissingProgram`` if the reader isn't installed or fails, for example because it
    ///   finds no circle; other errors if the member's keys can't be read or the reader's output
    ///   can't be decoded.
    static func read(
        _ cluster: EtcdCluster, _ prefix: String, with member: CircleMachine
    ) async throws -> IndependentReader {
        let formats = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Documentation/Formats/reader").standardized
        let python = formats.appending(path: "../../../.build/venv/bin/python").standardized.path
        guard FileManager.default.isExecutableFile(atPath: python) else {
            throw MissingProgram(
                description:
                    "The independent reader needs a Python at \(python), which `./dev test` "
                    + "creates: python3 -m venv .build/venv && .build/venv/bin/pip install -r "
                    + "Documentation/Formats/reader/requirements.txt")
        }
        let (records, keys) = (
            member.home.appending(path: "records.json"), member.home.appending(path: "keys.json")
        )
        try Data(try await cluster.dump(prefix).utf8).write(to: records)
        try JSONEncoder().encode(try MachineKeysFile(of: member)).write(to: keys)
        let text = try Program.run(
            python, package: "python3",
            ["-m", "keychain_reader", "circle-records", records.path, "--keys", keys.path],
            ["PYTHONPATH": formats.path])
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(IndependentReader.self, from: Data(text.utf8))
    }
}

/// A member's private keys, as the reader takes them: hexadecimal digits.
private struct MachineKeysFile: Encodable {
    let signingKey: String
    let agreementSeed: String

    init(of machine: CircleMachine) throws {
        let place = "swift-keychain.synchronization"
        let bytes = try machine.require([
            "get", "--group", place, "--service", place, "--account", "keys", "--no-prompt",
        ]).output
        let stored = try StoredKeys(messageBytes: bytes)
        signingKey = Self.digits(stored.scalar ?? Data())
        agreementSeed = Self.digits(stored.seed)
    }

    private static func digits(_ data: Data) -> String {
        data.map { String(format: "%02x", $0) }.joined()
    }
}

/// The item `keys` of Documentation/Synchronization.md, "What a machine keeps".
private struct StoredKeys: MessageCodable {
    let scalar: Data?
    let blob: Data?
    let publicKey: Data?
    let seed: Data

    func encode(to writer: inout MessageWriter) {
        scalar.encode(to: &writer)
        blob.encode(to: &writer)
        publicKey.encode(to: &writer)
        seed.encode(to: &writer)
    }

    init(from reader: inout MessageReader) throws(KeychainFailure) {
        scalar = try .init(from: &reader)
        blob = try .init(from: &reader)
        publicKey = try .init(from: &reader)
        seed = try .init(from: &reader)
    }
}

#endif
