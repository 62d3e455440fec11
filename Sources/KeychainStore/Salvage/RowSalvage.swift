// RowSalvage: reads item rows and keybags out of a damaged database and its WAL, without SQLite.
//   (1) No input traps, loops without end, or takes more memory than the files have bytes.
//   (2) One page is in memory at a time; a row is handed over before the next is read.
//   (3) What is handed over is a candidate: wrong ones are among them, and the caller's check of
//       the seals picks out the right ones.

/// Item rows and keybags out of the bytes of a database file and its WAL.
///
/// A flipped byte in the files costs at most the item or the keybag in whose content it lies:
/// page headers, cell pointers, lengths, record headers, overflow pointers, WAL headers and
/// checksums are each told from what is left.
package struct RowSalvage: Sendable {
    private let images: PageImages

    /// Reads the WAL once, to find the page that each of its frames holds.
    package init(database: any SalvageSource, wal: (any SalvageSource)?) {
        images = PageImages(database: database, wal: wal)
    }

    /// Opens the files for reading. See ``DamagedFile`` about files that SQLite has open.
    ///
    /// - Parameters:
    ///   - databasePath: The database file.
    ///   - walPath: The WAL file, nil if there is none.
    /// - Throws: ``SalvageFileError`` if a file can't be opened.
    package init(databasePath: String, walPath: String?) throws(SalvageFileError) {
        let database = try DamagedFile(path: databasePath)
        var wal: DamagedFile?
        if let walPath { wal = try DamagedFile(path: walPath) }
        self.init(database: database, wal: wal)
    }

    /// Calls `visit` with each candidate row.
    ///
    /// Candidates of the newest committed image of each page come first, by page number; then
    /// those whose overflow chain had to be mended; then those of all other images, the newest
    /// WAL frame first and replaced pages of the main file last. A row comes more than once where
    /// it is in several images or its bytes can be read in several ways.
    package func forEachRow(_ visit: (SalvagedRow) throws -> Void) rethrows {
        var pass = RowPass(images)
        try images.forEachCurrent { try pass.visitRows(of: $0, isCurrentPass: true, visit) }
        try pass.visitMendedRows(visit)
        try images.forEachOther { try pass.visitRows(of: $0, isCurrentPass: false, visit) }
    }

    /// The keybag bodies, those of the newest committed images first, without repetition.
    package func keybags() -> [SalvagedKeybag] {
        var pass = KeybagPass(images)
        images.forEachCurrent { pass.visit($0) }
        images.forEachOther { pass.visit($0) }
        return pass.found
    }
}
