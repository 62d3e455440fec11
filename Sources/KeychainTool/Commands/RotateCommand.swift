// RotateCommand: replaces all keys, so that earlier copies of the keychain can't open anything
// stored later.

import ArgumentParser
import KeychainCore

struct RotateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replaces the device key and all other keys.",
        discussion: """
            With an earlier copy of the keychain and the passcode of that time, the items in that \
            copy can still be opened, but nothing stored later. Setting the first passcode, or a \
            credential instead of one, and sealing the device key also replace all keys. Each item \
            is encrypted again, which takes a while and temporarily doubles the keychain's disk \
            space; programs can read meanwhile.

            A recovery code becomes invalid; if no passcode is set, the code can be given, and then \
            stays valid. A credential that was given neither here nor to the service becomes \
            invalid, too. Create them again. If a passcode is set, other programs are locked until \
            they provide it.

            Folders “damaged-…” of earlier recoveries remain encrypted under the earlier keys; \
            they are listed.
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
            Self.text(
                "All keys were replaced. Earlier copies can't open anything stored from now on.",
                ended))
    }

    /// The text for a completed rotation: `text`, and the slots that were removed.
    static func text(_ text: String, _ ended: [SlotSummary]) -> String {
        ([text]
            + ended.map {
                "Slot \($0.number), \($0.kind.name), is no longer valid. Create a new one."
            })
            .joined(separator: "\n")
    }

    static func showingProgress<Result>(
        _ body: ((RequestProgress) -> Bool) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let line = ProgressLine()
        defer { line.end() }
        return try body { progress in
            line.show("encrypted \(progress.done) of \(counted(progress.total, "item"))")
            return true
        }
    }
}
