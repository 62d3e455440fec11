// RestoreCommand: puts items that were set aside back in their places.

import ArgumentParser
import KeychainEngine
import KeychainModel

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts items that were set aside back in their places.",
        discussion: """
            Only an item whose bytes are all as they were written goes back. One that was \
            deleted or replaced, or may have been, goes back only if it is named. Where one byte of a \
            small item is wrong, it is found and mended. What can't be restored stays set aside; \
            `keychainctl doctor` lists it.
            """)

    @Argument(
        help: ArgumentHelp(
            "Which, as `keychainctl doctor` shows them. Without any: all that a check or a "
                + "recovery found damaged.",
            valueName: "reference"))
    var references: [ReferenceArgument] = []

    @Flag(help: "Writes a JSON array.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        guard let files = try FileSession(existing: passcode.source) else {
            throw ControlFailure(.notFound, "There is no keychain yet, so nothing is set aside.")
        }
        defer { files.close() }
        try files.unlockIfPossible()
        let restorations = try restore(files.engine)
        try Output.print(
            json
                ? JSON.array(restorations.map(Self.json)).text
                : restorations.isEmpty
                    ? "There is nothing to restore."
                    : restorations.map(Self.text).joined(separator: "\n"))
        guard restorations.allSatisfy(\.isRestored) else {
            throw ControlFailure(
                restorations.contains { $0.outcome == .damaged }
                    ? .damaged
                    : restorations.contains { $0.outcome == .locked } ? .locked : .exists,
                "Not every item could be restored. The others stay set aside.")
        }
    }

    private func restore(_ engine: KeychainEngine) throws -> [Restoration] {
        let chosen = references.isEmpty ? nil : Set(references.map(\.reference))
        let line = ProgressLine()
        defer { line.end() }
        do {
            return try engine.restoreSetAside(chosen) { done, total in
                line.show("restored \(done) of \(counted(total, "item"))")
            }
        } catch {
            guard error.status == .itemNotFound else { throw error }
            throw ControlFailure(
                .notFound,
                "No item of this reference is set aside. `keychainctl doctor` lists those that are."
            )
        }
    }

    // MARK: Showing

    private static func text(of restoration: Restoration) -> String {
        let outcome =
            switch restoration.outcome {
            case .restored: "restored"
            case .mended: "restored, with one byte mended"
            case .damaged: "too damaged to be restored"
            case .keyTaken: "not restored: another item has its place; delete that one first"
            case .locked: "not restored: it is locked with the passcode"
            }
        return "\(restoration.reference): \(outcome)"
    }

    private static func json(of restoration: Restoration) -> JSON {
        .object([
            ("reference", .string(restoration.reference.description)),
            ("outcome", .string("\(restoration.outcome)")),
        ])
    }
}
