// RotateCommand: replaces all keys, so that earlier copies of the keychain can't open anything
// stored later.

import ArgumentParser
import KeychainCore

struct RotateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Makes a new device key, and every key under it anew.",
        discussion: """
            A copy of the keychain from before opens what was in it with the passcode of then, and \
            nothing that comes later. Setting a passcode and sealing the device key do this by \
            themselves. Each item is sealed anew, which takes a while and as much disk space again \
            as the keychain; programs can read meanwhile.

            A recovery code ends, and so does a credential that this process wasn't given: make \
            them anew. Where a passcode is set, other programs are locked until they are given it.

            Folders “damaged-…” of earlier recoveries stay under the earlier keys, and are named.
            """)

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var way: WayInOptions

    func run() throws {
        let session = try SlotCommand.session()
        defer { session.close() }
        let proof = try way.read(hasPasscode: session.hasPasscode)
        let ended = try Self.showingProgress { progress throws(KeychainFailure) in
            try session.keychain.stream(RotateKeys(provedBy: proof), progress: progress)
        }
        defer { KeychainPlace.tellOfDamagedFolders() }
        if json {
            let slots = ended.map { JSON.count(Int($0.number)) }
            return try Output.print(JSON.object([("endedSlots", .array(slots))]).text)
        }
        try Output.print(
            Self.text("All keys are new. An earlier copy opens nothing that comes later.", ended))
    }

    /// The text for a completed rotation: `text`, and the slots that were removed.
    static func text(_ text: String, _ ended: [SlotSummary]) -> String {
        ([text] + ended.map { "Slot \($0.number), \($0.kind.name), has ended. Make another one." })
            .joined(separator: "\n")
    }

    static func showingProgress<Result>(
        _ body: ((RequestProgress) -> Bool) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let line = ProgressLine()
        defer { line.end() }
        return try body { progress in
            line.show("sealed \(progress.done) of \(counted(progress.total, "item"))")
            return true
        }
    }
}
