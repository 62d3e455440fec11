// StoreFolder+Rotation: how a database with new keys replaces the previous one.
// Documentation/Formats/database-v2.md, "Rotation".
//   (1) The new database, its device key, its keybag file and its anchor are complete and durable
//       in a folder `rotation-n` before the old database is marked. With the mark, the rotation
//       takes effect.
//   (2) After the mark any process can finish the rotation without a key, because files are only
//       renamed and removed. Finishing is idempotent.
//   (3) The new database gets its final name first, and the device key last. In between, the key is
//       read from `rotation-n`.
//   (4) The old database is removed before its log. A process that has opened a log and finds that
//       the database still exists therefore has the log of that database.

import FoundationEssentials
import Glibc
package import KeychainCore

extension StoreFolder {
    static let rotation = "rotation"

    /// This folder, with the highest of the numbers of the databases that it contains.
    package var located: StoreFolder { located(names) }

    func located(_ names: [String]) -> StoreFolder {
        // A non-empty log without a database counts, because it can be recovered; an empty one
        // doesn't.
        let numbers = names.filter {
            !$0.hasSuffix("-wal") || SystemCalls.status(ofLink: path + "/" + $0)?.st_size != 0
        }.compactMap(Self.number(ofDatabase:))
        return StoreFolder(path: path, number: numbers.max() ?? 0)
    }

    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    /// The number in the name of a database, of its log, or of the new database of a recovery.
    static func number(ofDatabase name: String) -> Int? {
        guard name.hasPrefix(numbered), let dot = name.firstIndex(of: "."),
            [".db", ".db-wal", ".db.recovered"].contains(String(name[dot...]))
        else { return nil }
        let digits = name[..<dot].dropFirst(numbered.count)
        return digits.isEmpty ? 0 : digits.first == "-" ? number(digits.dropFirst()) : nil
    }

    /// Whether a file is the log or the shared memory of an earlier database that no longer exists.
    /// SQLite creates such a file if the database is removed while a process opens it.
    func isOrphan(_ name: String, before current: StoreFolder) -> Bool {
        ["-wal", "-shm"].contains { suffix in
            guard name.hasSuffix(suffix) else { return false }
            let database = String(name.dropLast(suffix.count))
            let number = Self.number(ofDatabase: database)
            return database.hasSuffix(".db") && number.map { $0 < current.number } ?? false
                && SystemCalls.status(ofLink: path + "/" + database) == nil
        }
    }

    static func number(ofStaging name: String) -> Int? {
        name.hasPrefix(rotation + "-") ? number(name.dropFirst(rotation.count + 1)) : nil
    }

    private static let lastNumber = Int(Int32.max)

    private static func number(_ digits: Substring) -> Int? {
        guard let number = Int(digits), (1...lastNumber).contains(number), "\(number)" == digits
        else { return nil }
        return number
    }

    // MARK: Staging

    /// The folder that holds the files of a rotation until they are moved to their final places.
    private func staging(_ number: Int) -> StoreFolder {
        StoreFolder(path: path + "/" + Self.rotation + "-\(number)")
    }

    /// Whether there is a staging folder for the database with the given number.
    package func isStaged(_ number: Int) -> Bool { staging(number).isFolder }

    /// The entries of this folder that are named like staging folders, for databases with higher
    /// numbers than this one.
    private var stagedLater: [StoreFolder] {
        names.compactMap(Self.number(ofStaging:)).filter { $0 > number }.map(staging)
    }

    package var hasStagedLater: Bool { !stagedLater.isEmpty }

    /// The number of the database that replaces this one.
    /// - Throws: `notAvailable` if the numbers are exhausted.
    package var nextNumber: Int {
        get throws(KeychainFailure) {
            guard number < Self.lastNumber else {
                throw KeychainFailure(
                    .notAvailable,
                    "The keys can't be rotated: \(path(of: .database)) has the highest possible "
                        + "number. Nothing was changed. End every program that uses the keychain, "
                        + "and rename the file to keychain.db.")
            }
            return number + 1
        }
    }

    /// The folder that holds the device key of this database. It is found without a lock: see (3).
    package var deviceKeyFolder: StoreFolder {
        let staging = staging(number)
        return number > 0 && staging.isFolder && staging.exists(.deviceKey) ? staging : self
    }

    /// - Throws: `diskFull` if fewer than `byteCount` bytes are free. If the free space can't be
    ///   determined, it is assumed to be enough.
    package func requireRoom(for byteCount: Int) throws(KeychainFailure) {
        guard let free = SystemCalls.freeByteCount(at: path), free < byteCount else { return }
        let mebibyte = 1 << 20
        throw KeychainFailure(
            .diskFull,
            "Rotating the keys requires \((byteCount + mebibyte - 1) / mebibyte) MiB of free space "
                + "in the keychain's file system, but only \(free / mebibyte) MiB are free. "
                + "Nothing was changed. Free some space and try again.")
    }

    package static let interruptedRotation = KeychainFailure(
        .readOnly,
        "A rotation of the keys was interrupted, and the keychain's folder is read-only. Open the "
            + "keychain once while the folder is writable to finish the rotation.")
}

extension StoreFolder.Lock {
    /// Creates the files that replace the database: `make` creates them in a new folder, which then
    /// durably gets its name `rotation-n`.
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

    /// Removes the staged files of a rotation whose mark was not written.
    package func removeStaged() {
        for staging in folder.stagedLater { staging.removeAll() }
    }

    /// Moves all files to their final places. The old database has the mark, or has already been
    /// removed.
    package func finishRotation(to number: Int) throws(KeychainFailure) {
        let staging = folder.staging(number)
        guard staging.isFolder else { return }
        let new = StoreFolder(path: folder.path, number: number)
        if staging.exists(.database) {
            // After a power failure during the move, the database may have both names.
            if new.exists(.database) {
                SystemCalls.unlink(staging.path(of: .database))
            } else {
                try move(.database, from: staging, to: new)
                try folder.synchronize()
            }
        }
        guard new.exists(.database) else { throw new.failureForMissingDatabase }
        try removeDatabase(before: new)
        // If one of these can't be moved, a later commit or a later update of the keybag file
        // creates it again.
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

    /// Removes the files in the order of (4).
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
    /// The error for an open database that a rotation has replaced.
    package static let superseded = busy(
        "The keychain's keys were rotated meanwhile. The operation was not carried out. Try again.")

    package var isSuperseded: Bool { self == .superseded }
}
