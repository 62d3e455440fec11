// BackupRestoring: verifies a backup, restores it into the keychain, and shows the changes made to
// the keychain. Unless `--yes` is given, the changes are shown first, and the user has to confirm
// them. With `--dry-run`, they are only shown.

import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime

struct BackupRestoring {
    let options: BackupIdentityOptions
    let mode: BackupRestoreMode
    let isTrial: Bool
    let isConfirmed: Bool
    let isJSON: Bool
    let passcode: PasscodeOptions

    func run(_ path: String) throws {
        try options.reading(path, mayAsk: !passcode.noPrompt) { source in
            // Verify the file before creating a keychain for it.
            let machine = EngineOptions.ofThisMachine.machine
            _ = try KeychainEngine.readBackup(source, on: machine)
            if isTrial, try !KeychainPlace.holdsKeychain(KeychainPlace.folder().directory) {
                let empty = try KeychainEngine.open(try MemoryPlace(), options: .ofThisMachine)
                return try show(try empty.restore(source, mode, isTrial: true), isDone: false)
            }
            let files = try FileSession(making: passcode.source)
            defer { files.close() }
            try files.unlockIfLocked()
            try restore(source, into: files.engine)
        }
    }

    private func restore(_ source: BackupSource, into engine: KeychainEngine) throws {
        let plan = try showingProgress(engine, source, isTrial: true)
        guard !isTrial, !plan.isWithoutChange else { return try show(plan, isDone: !isTrial) }
        if !isConfirmed {
            try Confirmation.require(
                BackupText.text(of: plan, isPlan: true)
                    + "\nRestoring the backup makes all these changes.",
                phrase: mode == .replace ? "replace \(plan.deleted.count)" : "restore",
                noPrompt: passcode.noPrompt)
        }
        try show(try showingProgress(engine, source, isTrial: false), isDone: true)
    }

    private func showingProgress(
        _ engine: KeychainEngine, _ source: BackupSource, isTrial: Bool
    ) throws(KeychainFailure) -> BackupRestoration {
        let line = ProgressLine()
        defer { line.end() }
        // The progress also counts items that stay unchanged or are left out.
        let verb = isTrial ? "compared" : "processed"
        return try engine.restore(source, mode, isTrial: isTrial) { progress in
            line.show("\(verb) \(progress.done) of \(counted(progress.total, "item"))")
        }
    }

    private func show(_ restoration: BackupRestoration, isDone: Bool) throws {
        try Output.print(
            isJSON
                ? BackupText.json(of: restoration, isDone: isDone).text
                : BackupText.text(of: restoration, isPlan: !isDone))
    }
}
