// FuzzTests: parsers of the keychain's files, of entitlements and of SecItem dictionaries, with
// inputs close to valid ones.
//   (1) The inputs are derived from a fixed seed, so that a failure can be repeated.
//   (2) No input may cause a trap. If accepted input has a single encoding, it must be encoded to
//       the same bytes again.

import FaultSweeps
import Foundation
import KeychainRuntime
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainServices
import KeychainSQLite
import TestPrograms
import Testing

/// A parser with valid inputs as its corpus.
struct FuzzTarget: CustomTestStringConvertible, Sendable {
    let name: String
    let rounds: Int
    /// Whether accepted input has a single encoding, so that `parse` returns each input of the
    /// corpus unchanged.
    var isEncodedAgain = false
    let corpus: @Sendable () throws -> [[UInt8]]
    /// The encoding of the parsed input, if it was accepted and has a single encoding.
    let parse: @Sendable ([UInt8]) -> [UInt8]?

    var testDescription: String { name }

    private static let key = SecretBytes(copying: (0..<32).map { UInt8($0) })
    private static let authenticator = StoreAuthenticator(key: key)

    private static let tiers = StoreTiers(
        open: StoreTier(indexKey: key, integrityKey: key),
        guarded: StoreTier(indexKey: key, integrityKey: key))

    private static var records: [[UInt8]] {
        [
            ItemRecord(
                itemClass: .genericPassword,
                attributes: [
                    .service: .string("s"), .account: .data(Data([1, 2])), .type: .number(7),
                    .creationDate: .date(1),
                ], accessGroup: "g", isSynchronizable: true, isTombstone: false,
                secretTag: [UInt8](repeating: 9, count: 16)),
            ItemRecord(
                itemClass: .internetPassword, attributes: [.port: .number(443)],
                accessGroup: "", isSynchronizable: false, isTombstone: true),
        ].map { $0.encoded() }
    }

    static let all: [FuzzTarget] = [
        FuzzTarget(
            name: "keybag", rounds: 30_000, isEncodedAgain: true,
            corpus: {
                let bare = KeyHierarchy.create(deviceKey: key)
                let guarded = try bare.settingPasscode(
                    key, cost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1), at: 0)
                return [bare.encoded, guarded.encoded]
            },
            parse: { bytes in
                guard let keybag = try? Keybag.parse(bytes) else { return nil }
                // The tag isn't part of the parsed content, so it is copied from the input.
                return keybag.encoded(with: authenticator).dropLast(32) + bytes.suffix(32)
            }),
        FuzzTarget(
            name: "device key", rounds: 5_000,
            corpus: { [DeviceKeyFile.encode(key).plainBytes] },
            parse: { bytes in
                _ = try? DeviceKeyFile.decode(SecretBytes(copying: bytes))
                return nil
            }),
        FuzzTarget(
            name: "sealed device key", rounds: 5_000, isEncodedAgain: true,
            corpus: {
                [24, 208].map { SealedDeviceKeyFile.encode(Data((0..<$0).map { UInt8($0) })) }
            },
            parse: { bytes in
                guard
                    let contents = SealedDeviceKeyFile.decode(SecretBytes(copying: bytes)),
                    contents.isWhole
                else { return nil }
                return SealedDeviceKeyFile.encode(contents.sealed)
            }),
        FuzzTarget(
            name: "header", rounds: 30_000, isEncodedAgain: true,
            corpus: {
                [
                    StoreHeader(keychainID: [UInt8](repeating: 3, count: 16), keybagGeneration: 1)
                        .encoded(with: tiers)
                ]
            },
            parse: { bytes in
                StoreHeader(bytes, tiers)?.encoded(with: tiers)
            }),
        FuzzTarget(
            name: "anchor", rounds: 2_000,
            corpus: {
                let folder = try TemporaryFolder()
                let anchor = Anchor(
                    folder: StoreFolder(path: folder.path), authenticator: authenticator)
                for generation in [7, 8] as [UInt64] { anchor.note(generation: generation) }
                return [[UInt8](try #require(folder.contents()["anchor"]))]
            },
            parse: { bytes in
                guard let folder = try? TemporaryFolder(),
                    (try? folder.put(Data(bytes), "anchor")) != nil
                else { return nil }
                let store = StoreFolder(path: folder.path)
                // Either of the two records suffices, so a generation has more than one encoding.
                // A generation that was never written must not be read: the result [] makes the
                // test fail, because it differs from every input.
                switch Anchor.last(in: store, authenticator) {
                case nil, 7, 8: return nil
                default: return []
                }
            }),
        FuzzTarget(
            name: "item record", rounds: 60_000, isEncodedAgain: true, corpus: { records },
            parse: { ItemRecord(decoding: $0)?.encoded() }),
        FuzzTarget(
            name: "entitlements", rounds: 3_000,
            corpus: {
                [
                    Array(
                        """
                        <?xml version="1.0" encoding="UTF-8"?>
                        <plist version="1.0"><dict>
                        <key>application-identifier</key><string>$(AppIdentifierPrefix)app</string>
                        <key>keychain-access-groups</key><array><string>a</string></array>
                        </dict></plist>
                        """.utf8)
                ]
            },
            parse: { bytes in
                _ = try? Entitlements(propertyList: Data(bytes), name: "fuzz")
                return nil
            }),
        FuzzTarget(
            name: "damaged database", rounds: 60,
            corpus: {
                let folder = try TemporaryFolder()
                let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
                for number in 0..<20 {
                    try engine.save("item \(number)", Data(count: number * 400))
                }
                defer { engine.close() }
                return try ["keychain.db", "keychain.db-wal"].compactMap {
                    try folder.contents()[$0].map { [UInt8]($0) }
                }
            },
            parse: { bytes in
                for salvage in [
                    RowSalvage(database: MemorySource(bytes), log: nil),
                    RowSalvage(database: MemorySource([]), log: MemorySource(bytes)),
                ] {
                    salvage.forEachRow { _ in }
                    _ = salvage.keybags { _ in true }
                    _ = salvage.headers(tiers)
                }
                return nil
            }),
        FuzzTarget(
            name: "SecItem dictionaries", rounds: 20_000,
            corpus: { [Array("svceacctr_Datam_Limit".utf8)] },
            parse: { bytes in
                // Keys and values are pieces of the input. Any status is acceptable.
                var query: [String: Any] = ["class": bytes.count % 3 == 0 ? "inet" : "genp"]
                for start in stride(from: 0, to: bytes.count, by: 5) {
                    let piece = bytes[start..<min(start + 4 + Int(bytes[start]) % 3, bytes.count)]
                    let name = String(decoding: piece, as: UTF8.self)
                    let values: [Any] = [
                        name, Data(piece), Int(piece.first ?? 0), true, Date(), NSNull(), [name],
                    ]
                    query[name] = values[Int(piece.last ?? 0) % values.count]
                }
                let nothing = ProcessConnection(
                    handler: .substitute(NoKeychain()), caller: caller)
                KeychainContext.$connection.withValue(nothing) {
                    _ = SecItemUpdate(query as CFDictionary, query as CFDictionary)
                    _ = SecItemCopyMatching(query as CFDictionary, nil)
                    _ = SecItemAdd(query as CFDictionary, nil)
                    _ = SecItemDelete(query as CFDictionary)
                }
                return nil
            }),
    ]
}

/// A keychain that contains nothing and stores nothing, because only the parsing of requests is
/// tested.
private struct NoKeychain: RequestHandler {
    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        throw R.code == .add ? .duplicateItem : .itemNotFound
    }
}

@Suite struct FuzzTests {
    @Test(arguments: FuzzTarget.all)
    func `no input crashes a parser, and accepted input is encoded back unchanged`(
        target: FuzzTarget
    ) throws {
        let corpus = try target.corpus()
        try #require(!corpus.isEmpty)
        var random = SeededGenerator(seed: 20_260_101)
        var taken = 0
        for seed in corpus {
            #expect(target.parse(seed) == (target.isEncodedAgain ? seed : nil))
        }
        for _ in 0..<target.rounds {
            let input = Self.mutated(corpus.randomElement(using: &random) ?? [], &random)
            guard let again = target.parse(input) else { continue }
            taken += 1
            #expect(again == input)
        }
        print("fuzz \(target.name): \(target.rounds) inputs, \(taken) encoded again, 0 traps")
    }

    private static func mutated(_ input: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = input
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard !bytes.isEmpty else { return [UInt8.random(in: 0...255, using: &random)] }
            let place = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
            case 4: bytes.remove(at: place)
            default: bytes.removeLast(Int.random(in: 0...min(bytes.count, 9), using: &random))
            }
        }
        return bytes
    }
}
