// SaveRows: durable saves of secrets.

import BenchmarkFigures
import Crypto
import Foundation
import Keychain

enum SaveRows {
    private static let contest = Contest(rounds: 31, repetitions: 15)

    static func measure(_ level: Level) throws -> [Row] {
        Program.note("Measuring saves")
        let keychain = Keychain(service: "org.example.saved")
        let present = KeychainKey<Data>("present")
        try keychain.save(Sample.secret(of: 0), for: present)
        let key = KeychainKey<SymmetricKey>("key")
        let floorName = Sample.key(of: 0)
        let figures = try contest.run([
            { try level.floor.add(Sample.secret(of: $0), under: newName($0)) },
            { try level.floor.replace(Sample.secret(of: $0), under: floorName) },
            { try keychain.save(Sample.secret(of: $0), for: KeychainKey<Data>("new-\($0)")) },
            { try keychain.save(Sample.secret(of: $0), for: present) },
            { _ in try roundTrip(keychain, key) },
            {
                try level.floor.replace(Sample.secret(of: $0), under: floorName)
                _ = try level.floor.load(floorName)
            },
        ])
        return [
            row("save a new item, durable", figures[2], figures[0]),
            row("save over an item, durable", figures[3], figures[1]),
            Row(
                "symmetric key, saved and loaded", figures[4], .time,
                [
                    .times(figures[4], of: figures[5], "floor: a save and a load"),
                    .faster(
                        figures[4], than: ReferenceTime.symmetricKeyRoundTrip,
                        .roundTripReference),
                ]),
        ]
    }

    /// The name of a new row: no row in the database of the `Floor` has this name yet.
    static func newName(_ index: Int) -> Data { Sample.key(of: -1 - index) }

    private static func row(_ subject: String, _ figure: Samples, _ floor: Samples) -> Row {
        Row(
            subject, figure, .time,
            [
                .times(figure, of: floor, "floor: SQLite and AES", .save),
                .faster(figure, than: ReferenceTime.save, .saveReference),
            ])
    }

    private static func roundTrip(_ keychain: Keychain, _ key: KeychainKey<SymmetricKey>) throws {
        let value = SymmetricKey(size: .bits256)
        try keychain.save(value, for: key)
        guard try keychain.load(key) == value else {
            throw WrongAnswer(description: "The key that was loaded isn't the one that was saved.")
        }
    }
}
