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
        abstract: "Rebuilds a damaged keychain from every item that is whole.",
        discussion: """
            The former files are kept in a folder beside the new ones; none is deleted or \
            written over. Items that are not whole are set aside in the new keychain, as \
            `keychainctl doctor` lists them. Where items may be lost of which nothing is known, \
            programs that find nothing are told of damage, until `keychainctl restore --dismiss` \
            gives them up. Where nothing confirms that what came back is what was saved last, \
            that is said, and the exit status is 6: a program that can write the folder may have \
            put back earlier pages. No other program may use the keychain meanwhile. Where a \
            passcode is set it is needed, since a locked item can't be told from a damaged one. A \
            recovery that was interrupted is finished by the next.
            """)

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

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
                ? "Not every item came back."
                : "What came back is not confirmed to be what was saved last."
            throw ControlFailure(
                .damaged,
                what + " `keychainctl doctor` lists what was set aside; a backup may hold the "
                    + "rest. The damaged files are kept.")
        }
    }

    private func recover(_ directory: String) throws -> RecoveryReport {
        do {
            return try recover(directory, with: nil)
        } catch  where error.status == .interactionNotAllowed {
            guard let given = try passcode.source.read() else {
                throw ControlFailure(
                    .locked,
                    error.reason + " Give it with --passcode-fd, or run this at a terminal.")
            }
            return try recover(directory, with: given)
        }
    }

    private func recover(
        _ directory: String, with passcode: SecretBytes?
    ) throws(KeychainFailure) -> RecoveryReport {
        let line = ProgressLine()
        defer { line.end() }
        return try KeychainEngine.recover(
            directory: directory, passcode: passcode, options: .ofThisMachine
        ) { count in
            line.show("\(counted(count, "item")) so far")
        }
    }

    // MARK: Showing

    private static func text(of report: RecoveryReport) -> String {
        let count = counted(report.itemCount, "item")
        var lines = [
            report.isContinued
                ? "Finished a recovery that was interrupted: \(count)."
                : report.isVerified
                    ? "Recovered "
                        + (report.expectedCount.map {
                            "\(report.itemCount) of \(counted($0, "item"))."
                        } ?? "\(count).") : "Brought back \(count)."
        ]
        if !report.isConfirmed {
            lines.append(
                "Nothing confirms that they are the latest: an item may be of an earlier time, or "
                    + "may have been deleted since.")
        }
        lines += report.damagedItems.map { "Set aside, not whole: \($0)" }
        lines += report.doubtfulItems.map {
            "Set aside, perhaps deleted or of an earlier time: \($0)"
        }
        if report.hasUnknownLoss {
            lines.append("Items may be lost of which nothing is known.")
        }
        lines.append("The former files are in \(printable(report.damagedDirectory)).")
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
