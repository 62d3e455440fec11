// RecoverCommand: rebuilds a damaged keychain from all intact items.

import ArgumentParser
import Glibc
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore

struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Rebuilds a damaged keychain from all intact items.",
        discussion: """
            The original files are moved to a folder next to the new ones; none is deleted or \
            overwritten. Items that are not intact are set aside in the new keychain; `keychainctl \
            doctor` lists them. If unknown items may be lost, programs whose searches find nothing \
            get an error about damage, until `keychainctl restore --dismiss` accepts the loss. If \
            nothing confirms that the recovered items are the ones saved last, the output says so, \
            and the exit status is 6: a program that can write the folder may have put back \
            earlier pages. No other program may use the keychain during the recovery. If a \
            passcode is set, it is required, because without it locked items can't be \
            distinguished from damaged ones; a recovery code or a credential can be used instead. \
            If a recovery is interrupted, the next one completes it or starts from the beginning.
            """)

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var way: WayInOptions

    @Flag(help: "Never prompts at the terminal.")
    var noPrompt = false

    func run() throws {
        let directory = try KeychainPlace.folder().directory
        guard try KeychainPlace.holdsKeychain(directory) else {
            throw ControlFailure(
                .notFound, "There is no keychain in \(printable(directory)) to recover.")
        }
        let report = try recover(directory)
        try Output.print(json ? Self.json(of: report).text : Self.text(of: report))
        guard report.isComplete else {
            let what =
                report.isConfirmed
                ? "Not every item was recovered."
                : "Nothing confirms that the recovered items are the ones saved last."
            throw ControlFailure(
                .damaged,
                what + " `keychainctl doctor` lists the items that were set aside; a backup may "
                    + "contain items that are missing. The damaged files are kept.")
        }
    }

    private func recover(_ directory: String) throws -> RecoveryReport {
        if way.isOther {
            let given = try way.read(hasPasscode: true, mayAsk: !noPrompt)
            return try recover(directory, with: given)
        }
        do {
            return try recover(directory, with: nil)
        } catch  where error.status == .interactionNotAllowed {
            let source = PasscodeSource(descriptor: way.descriptor, mayAsk: !noPrompt)
            guard let given = try source.read() else {
                throw ControlFailure(
                    .locked,
                    error.reason + " Provide it with --passcode-fd, or run this command at a "
                        + "terminal.")
            }
            return try recover(directory, with: .passcode(given))
        }
    }

    private func recover(
        _ directory: String, with way: WayIn?
    ) throws(KeychainFailure) -> RecoveryReport {
        let line = ProgressLine()
        defer { line.end() }
        return try KeychainEngine.recover(
            directory: directory, with: way, options: .ofThisMachine
        ) { count in
            line.show("\(counted(count, "item")) recovered")
        }
    }

    // MARK: Showing

    private static func text(of report: RecoveryReport) -> String {
        let count = counted(report.itemCount, "item")
        var lines = [
            report.isContinued
                ? "Completed an interrupted recovery: \(count)."
                : report.isVerified
                    ? "Recovered "
                        + (report.expectedCount.map {
                            "\(report.itemCount) of \(counted($0, "item"))."
                        } ?? "\(count).") : "Brought back \(count)."
        ]
        if !report.isConfirmed {
            lines.append(
                "Nothing confirms that these are the latest versions: an item may be an earlier "
                    + "version, or may have been deleted since.")
        }
        lines += report.damagedItems.map { "Set aside, damaged: \($0)" }
        lines += report.doubtfulItems.map {
            "Set aside, possibly deleted or an earlier version: \($0)"
        }
        if report.hasUnknownLoss {
            lines.append("Unknown items may be lost.")
        }
        lines.append("The original files are in \(printable(report.damagedDirectory)).")
        return lines.joined(separator: "\n")
    }

    private static func json(of report: RecoveryReport) -> JSON {
        .object([
            ("complete", .bool(report.isComplete)),
            ("confirmed", .bool(report.isConfirmed)),
            ("continued", .bool(report.isContinued)),
            ("items", .count(report.itemCount)),
            ("expectedItems", report.expectedCount.map { .count($0) } ?? .null),
            ("notWhole", .array(report.damagedItems.map { .string($0.description) })),
            ("doubtful", .array(report.doubtfulItems.map { .string($0.description) })),
            ("unknownLoss", .bool(report.hasUnknownLoss)),
            ("damagedDirectory", .string(report.damagedDirectory)),
        ])
    }
}
