// CheckCommand: reads everything in a keychain or a backup once, and reports what was altered or
// damaged.

import ArgumentParser
import KeychainRuntime
import KeychainEngine
import KeychainCore

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Verifies the structure of the keychain and every item in it.",
        discussion: """
            No item is changed unless --set-aside is given, which sets damaged items aside, so \
            that their names can be used again. If part of the file is damaged, only `keychainctl \
            recover` does this. `keychainctl doctor` lists the items that were set aside.

            With --backup, the whole backup file is opened and read instead of the keychain.
            """)

    @Flag(help: "Sets damaged items aside. No item is deleted.")
    var setAside = false

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var opening: BackupIdentityOptions

    @OptionGroup var passcode: PasscodeOptions

    func validate() throws {
        guard opening.backup == nil || !setAside else {
            throw ValidationError("--set-aside can't be combined with --backup.")
        }
        try InputOption.requireDistinct([
            InputOption("--passphrase-fd", opening.passphraseFd),
            InputOption("--passcode-fd", passcode.passcodeFd),
        ])
    }

    func run() throws {
        if let backup = opening.backup { return try check(backup) }
        let (report, total) = try setAside ? checkFiles() : checkKeychain()
        try show(report, setAsideInAll: total)
        guard report.isSound else { throw Self.failure(for: report) }
    }

    private func check(_ backup: String) throws {
        try opening.reading(backup, mayAsk: !passcode.noPrompt) { source in
            let machine = EngineOptions.ofThisMachine.machine
            let summary = try KeychainEngine.readBackup(source, on: machine)
            try Output.print(
                json
                    ? JSON.object([("sound", .bool(true))] + BackupText.json(of: summary)).text
                    : "The backup is intact. " + BackupText.text(of: summary))
        }
    }

    /// Runs the check in the process that has the keychain open, because a service may have it
    /// unlocked.
    /// - Returns: The report, and the total number of items that are set aside.
    private func checkKeychain() throws -> (CheckReport, Int) {
        guard let session = try KeychainSession(existing: passcode.source) else {
            throw try absent()
        }
        defer { session.close() }
        if try session.hasPasscode,
            try session.keychain.perform(ReadStatus()).lockState != .unlocked
        {
            _ = try session.unlock()
        }
        let report = try progress { progress throws(KeychainFailure) in
            try session.keychain.stream(CheckKeychain(), progress: progress)
        }
        return (report, Int(clamping: try session.keychain.perform(ReadStatus()).setAsideCount))
    }

    private func checkFiles() throws -> (CheckReport, Int) {
        guard let files = try FileSession(existing: passcode.source) else { throw try absent() }
        defer { files.close() }
        try files.unlockIfPossible()
        let report = try progress { progress throws(KeychainFailure) in
            try files.engine.check(settingAside: true, progress: progress)
        }
        return (report, Int(clamping: try files.engine.status().setAsideCount))
    }

    private func absent() throws -> ControlFailure {
        let folder = try KeychainPlace.folder().directory
        return ControlFailure(.notFound, "There is no keychain in \(printable(folder)) yet.")
    }

    private func progress(
        _ check: ((RequestProgress) -> Bool) throws(KeychainFailure) -> CheckReport
    ) throws -> CheckReport {
        let line = ProgressLine()
        defer { line.end() }
        return try check { progress in
            line.show("checked \(progress.done) of \(counted(progress.total, "item"))")
            return true
        }
    }

    static func failure(for report: CheckReport) -> ControlFailure {
        if !report.problems.isEmpty {
            return ControlFailure(
                .damaged,
                "The keychain is damaged. `keychainctl recover` rebuilds it from all intact items "
                    + "and keeps the damaged file.")
        }
        let items = report.damagedItems.filter { !$0.isOfEarlierVersion }
        if items.isEmpty {
            guard report.damagedPages.isEmpty else {
                return ControlFailure(
                    .damaged,
                    "No item is known to be damaged, but the file has "
                        + "\(counted(report.damagedPages.count, "damaged page")). `keychainctl "
                        + "recover` rewrites the keychain.")
            }
            return ControlFailure(
                .damaged,
                "No item is known to be damaged, but the keychain has "
                    + "\(counted(report.damagedItems.count, "damaged earlier version")). "
                    + (report.damagedItems.contains { $0.reference == nil }
                        ? "`keychainctl recover` rebuilds the keychain without earlier versions."
                        : "`keychainctl purge` deletes earlier versions."))
        }
        let count = counted(items.count, "damaged item")
        if report.setAsideCount == items.count {
            return ControlFailure(
                .damaged,
                "\(count) set aside. `keychainctl doctor` lists them; `keychainctl restore` puts "
                    + "back those that can be opened again.")
        }
        guard report.damagedPages.isEmpty else {
            return ControlFailure(
                .damaged,
                "\(count), in a damaged part of the file. `keychainctl recover` sets "
                    + "\(items.count == 1 ? "it" : "them") aside and keeps all other items.")
        }
        // A row without a reference can't be set aside.
        guard items.allSatisfy({ $0.reference != nil }) else {
            return ControlFailure(
                .damaged,
                "\(count). `keychainctl recover` rebuilds the keychain from all intact items and "
                    + "keeps the damaged file.")
        }
        return ControlFailure(
            .damaged,
            "\(count). `keychainctl check --set-aside` sets damaged items aside.")
    }

    private func show(_ report: CheckReport, setAsideInAll total: Int) throws {
        try Output.print(
            json ? Self.json(of: report, total).text : Self.text(of: report, total))
    }

    static func text(of report: CheckReport, _ setAsideInAll: Int) -> String {
        var lines = report.problems.map { "structure: " + printable($0) }
        lines += report.damagedItems.map { item in
            "item \(item.reference?.description ?? "without a reference"): \(printable(item.what))"
        }
        let versionCount = report.damagedItems.count { $0.isOfEarlierVersion }
        let damagedCount = report.damagedItems.count - versionCount
        let whole = report.itemCount - damagedCount - report.lockedCount
        lines.append(
            "\(counted(report.itemCount, "item")) checked: \(whole) intact, "
                + "\(damagedCount) damaged, \(report.lockedCount) locked.")
        if versionCount > 0 {
            lines.append("\(counted(versionCount, "earlier version")) damaged.")
        }
        if report.lockedCount > 0 {
            lines.append(
                "Locked items were not opened. Unless they are bound to another machine, provide "
                    + "the passcode to check them completely.")
        }
        if report.setAsideCount > 0 {
            lines.append("\(counted(report.setAsideCount, "item")) set aside.")
        } else if setAsideInAll > 0 {
            lines.append("Set aside earlier: \(setAsideInAll). `keychainctl doctor` lists them.")
        }
        lines += report.notices.map { "note: " + $0 }
        return lines.joined(separator: "\n")
    }

    private static func json(of report: CheckReport, _ setAsideInAll: Int) -> JSON {
        .object([
            ("sound", .bool(report.isSound)),
            ("items", .count(report.itemCount)),
            ("locked", .count(report.lockedCount)),
            (
                "damaged",
                .array(
                    report.damagedItems.map {
                        .object([
                            ("reference", .optional($0.reference?.description)),
                            ("what", .string($0.what)),
                        ])
                    })
            ),
            ("problems", .array(report.problems.map { .string($0) })),
            ("damagedPages", .array(report.damagedPages.map { .number(Int64($0)) })),
            ("setAside", .count(report.setAsideCount)),
            ("setAsideInAll", .count(setAsideInAll)),
            ("notices", .array(report.notices.map { .string($0) })),
        ])
    }
}
