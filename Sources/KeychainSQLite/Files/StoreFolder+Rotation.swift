// StoreFolder+Rotation: how a database with other keys takes the place of the one before.
// Documentation/Formats/database-v2.md, "Rotation".
//   (1) The new database, its device key, the copy of its keybag and its anchor are complete and durable
//       in a folder `rotation-n` before the old database is marked. The mark is the moment.
//   (2) After it anybody can finish, without any key: files only change their places. What was done
//       already is not done again.
//   (3) The new database takes its own name first, and the device key its own last. In between the key is
//       in `rotation-n`.
//   (4) The old database goes before its log: a process that has opened a log and finds the database
//       still there has the log that belongs to it.

import FoundationEssentials
import Glibc
package import KeychainCore

extension StoreFolder {
    static let rotation = "rotation"

    /// This folder, with the number of the database that it holds.
    package var located: StoreFolder { located(names) }

    func located(_ names: [String]) -> StoreFolder {
        let found = names.filter { Self.number(ofDatabase: $0) != nil }
        // A log alone can be recovered. What is empty counts where there is nothing else.
        let filled = found.filter { SystemCalls.status(ofLink: path + "/" + $0)?.st_size != 0 }
        let databases = found.filter { !$0.hasSuffix("-wal") }
        let numbers = (filled.isEmpty ? databases : filled).compactMap(Self.number(ofDatabase:))
        return StoreFolder(path: path, number: numbers.max() ?? 0)
    }

    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    /// The number in the name of a database, of its log or of what a recovery has made of it.
    static func number(ofDatabase name: String) -> Int? {
        guard name.hasPrefix(numbered), let dot = name.firstIndex(of: "."),
            [".db", ".db-wal", ".db.recovered"].contains(String(name[dot...]))
        else { return nil }
        let digits = name[..<dot].dropFirst(numbered.count)
        return digits.isEmpty ? 0 : digits.first == "-" ? number(digits.dropFirst()) : nil
    }

    /// What SQLite makes beside a database that has just been removed, for who was opening it.
    func isOrphan(_ name: String, before current: StoreFolder) -> Bool {
        ["-wal", "-shm"].contains { suffix in
            guard name.hasSuffix(suffix) else { return false }
            let database = String(name.dropLast(suffix.count))
            let number = Self.number(ofDatabase: database)
            return database.hasSuffix(".db") && number.map { $0 < current.number } ?? false
                && SystemCalls.status(ofLink: path + "/" + database) == nil
        }
    }

    /// - Throws: `notAvailable` where there is a database of an earlier number besides. No rotation leaves
    ///   one: somebody has put it there, and the device key may be its.
    package func requireOneDatabase() throws(KeychainFailure) {
        let names = names
        let other = names.first { name in
            name.hasSuffix(".db") && Self.number(ofDatabase: name).map { $0 < number } ?? false
        }
        // A rotation that is being finished removes the old one before its own folder.
        guard let other, !names.contains(Self.rotation + "-\(number)"),
            let status = SystemCalls.status(ofLink: path + "/" + other), status.st_size > 0
        else { return }
        throw KeychainFailure(
            .notAvailable,
            "\(path) holds \(other) beside \(Self.numbered)-\(number).db: a backup was put over a later "
                + "keychain. Restore it into an empty folder. Nothing was changed.", cause: .damage)
    }

    static func number(ofStaging name: String) -> Int? {
        name.hasPrefix(rotation + "-") ? number(name.dropFirst(rotation.count + 1)) : nil
    }

    private static func number(_ digits: Substring) -> Int? {
        guard let number = Int(digits), numbers.contains(number), "\(number)" == digits else {
            return nil
        }
        return number
    }

    /// Those of rotated databases.
    private static let numbers = 1...Int(Int32.max)

    /// The number of the database that takes this one's place.
    package var successor: Int {
        get throws(KeychainFailure) {
            guard Self.numbers.contains(number + 1) else {
                throw .notPermitted(
                    "\(path(of: .database)) has the highest number that a database can have, so its keys "
                        + "can't be changed once more. Nothing was changed.")
            }
            return number + 1
        }
    }

    // MARK: What is being made

    /// Where the files of a rotation stand until they have their places.
    private func staging(_ number: Int) -> StoreFolder {
        StoreFolder(path: path + "/" + Self.rotation + "-\(number)")
    }

    /// Which database a rotation leads to that has not come to its end, or was given up.
    package var stagedNumber: Int? {
        names.compactMap(Self.number(ofStaging:)).filter { staging($0).isOwnFolder }.max()
    }

    /// Where the device key of this database is. It is found without a lock: see (3).
    package var deviceKeyFolder: StoreFolder {
        let staging = staging(number)
        return number > 0 && staging.isOwnFolder && staging.exists(.deviceKey) ? staging : self
    }

    /// - Throws: `diskFull` where a second database and its log have no room.
    package func requireRoom(for byteCount: Int) throws(KeychainFailure) {
        guard let free = SystemCalls.freeByteCount(at: path), free < byteCount else { return }
        throw KeychainFailure(
            .diskFull,
            "Changing the keys takes \(byteCount >> 20) MB of free space beside the keychain, and there "
                + "are \(free >> 20). Nothing was changed. Free some space and try again.")
    }

    package static let interruptedRotation = KeychainFailure(
        .readOnly,
        "A change of the keychain's keys was interrupted, and its folder can't be written. Open the "
            + "keychain once where it can be: that finishes the change.")
}

extension StoreFolder.Lock {
    /// Makes what is to take the place of the database: `make` in a folder of its own, durable then.
    package func stage(
        _ number: Int,
        _ make: (StoreFolder, StoreFolder.Lock) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        let new = StoreFolder(
            path: StoreFolder.newPath(of: folder.path + "/" + StoreFolder.rotation))
        defer { new.removeAll() }
        try new.prepare()
        try make(new, inside(new))
        for file in [StoreFolder.File.database, .anchor] where new.exists(file) {
            try new.synchronize(file)
        }
        try new.synchronize()
        let place = folder.path + "/" + StoreFolder.rotation + "-\(number)"
        guard SystemCalls.rename(new.path, place) == 0 else {
            throw StoreFolder.failure("make \(place)")
        }
        try folder.synchronize()
    }

    /// Removes what was made, for a mark that never came.
    package func removeStaged() {
        while let number = folder.stagedNumber {
            let staging = folder.staging(number)
            staging.removeAll()
            if staging.exists { return }
        }
    }

    /// Puts everything in its place. The old database has the mark, or has gone already.
    package func finishRotation(to number: Int) throws(KeychainFailure) {
        let staging = folder.staging(number)
        guard staging.isOwnFolder else { return }
        let new = StoreFolder(path: folder.path, number: number)
        if staging.exists(.database) {
            // A power failure can bring the name back.
            if new.exists(.database) {
                SystemCalls.unlink(staging.path(of: .database))
            } else {
                try move(.database, from: staging, to: new)
                try folder.synchronize()
            }
        }
        guard new.exists(.database) else { throw new.failureForMissingDatabase }
        try removeDatabase(before: new)
        // Both are made anew where they can't have their places.
        for file in [StoreFolder.File.anchor, .keybag] { try? move(file, from: staging, to: new) }
        try move(.deviceKey, from: staging, to: new)
        try folder.synchronize()
        staging.removeAll()
    }

    private func move(
        _ file: StoreFolder.File, from staging: StoreFolder, to place: StoreFolder
    ) throws(KeychainFailure) {
        guard staging.exists(file) else { return }
        guard SystemCalls.rename(staging.path(of: file), place.path(of: file)) == 0 else {
            throw StoreFolder.failure("move \(staging.path(of: file))")
        }
    }

    /// In the order of (4) above.
    private func removeDatabase(before new: StoreFolder) throws(KeychainFailure) {
        let old = StoreFolder(path: folder.path, number: new.number - 1)
        for file in [StoreFolder.File.database, .writeAheadLog, .sharedMemory] {
            let path = old.path(of: file)
            guard SystemCalls.unlink(path) == 0 || errno == ENOENT else {
                throw StoreFolder.failure("remove \(path)")
            }
        }
        try folder.synchronize()
    }
}

extension KeychainFailure {
    /// A rotation has put another database in the place of the one that is open.
    package static let superseded = busy(
        "The keys of the keychain were changed meanwhile. Nothing was changed. Try again.")

    package var isSuperseded: Bool { self == .superseded }
}
