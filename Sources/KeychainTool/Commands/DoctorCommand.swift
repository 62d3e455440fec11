// DoctorCommand: explains why a query finds nothing, and lists what was set aside.

import ArgumentParser
import FoundationEssentials
import KeychainRuntime
import KeychainEngine
import KeychainCrypto
import KeychainCore
import KeychainSQLite

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Explains why a query finds nothing, and lists what was set aside.",
        discussion: """
            With the options of a query, doctor searches for the item in other groups, in the \
            other class, among synchronizable items, even deleted ones, and under similar names, \
            and explains how a program would have to query for it. It then lists the items that \
            were set aside, and shows whether the keychain as a whole was verified. Nothing is \
            changed and no secret is opened.
            """)

    @OptionGroup var selection: SelectionOptions

    @Option(
        help: ArgumentHelp(
            "Searches with the access groups of this executable, from PATH.entitlements.",
            valueName: "path"),
        completion: .file())
    var program: String?

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        let caller = try caller()
        var findings: [Finding] = []
        var setAside: [SetAsideRow] = []
        var verification = VerificationState(.unneeded)
        if let files = try FileSession(existing: passcode.source) {
            if selection.isNarrowed {
                var diagnosis = Diagnosis(files.session, selection, groups: caller.groups)
                try diagnosis.run()
                findings = diagnosis.findings
            }
            findings += try Self.machineFindings(files.engine.status())
            setAside = try files.engine.setAsideRows()
            verification = files.engine.verification
        } else {
            let location = try KeychainPlace.folder()
            findings = [
                Finding(
                    kind: .noKeychain,
                    text: "There is no keychain yet in \(printable(location.directory)), chosen by "
                        + "\(location.reason).")
            ]
        }
        try show(findings, setAside, verification, caller)
    }

    /// Findings about items that would be lost with the machine, or can't be read on it.
    private static func machineFindings(_ status: KeychainStatus) -> [Finding] {
        let count = counted(Int(clamping: status.deviceItemCount), "item")
        switch status.machine {
        case .otherMachine, .unreachable:
            return [
                Finding(
                    kind: .otherMachine,
                    text: "The keychain is bound to another machine, or the identity or TPM of "
                        + "this machine has changed or can't be used: \(count) can't be read here. "
                        + "Use the original machine, or bind the keychain to this one with the "
                        + "recovery code: `keychainctl bind --recovery-code`.")
            ]
        case .thisMachine where status.deviceItemCount > 0 && !status.hasRecoveryCode:
            return [
                Finding(
                    kind: .boundWithoutRecovery,
                    text: "\(count) would be lost with this machine. Create a recovery code with "
                        + "`keychainctl slot add recovery-code` to be able to move them.")
            ]
        case .notBound, .thisMachine: return []
        }
    }

    // MARK: The caller

    private struct Caller {
        let groups: AccessGroups
        let source: String
    }

    private func caller() throws -> Caller {
        guard let program else {
            return Caller(
                groups: try EmbeddedKeychain.entitlements().accessGroups,
                source: EmbeddedKeychain.entitlementsSource() == .none
                    ? "those of a program without entitlements" : "those of keychainctl")
        }
        let path = program + ".entitlements"
        guard Files.status(of: program) != nil else {
            throw ControlFailure(
                .failure,
                "The file \(printable(program)) doesn't exist. Provide the path of an executable.")
        }
        guard Files.status(of: path) != nil else {
            return Caller(
                groups: AccessGroups([EmbeddedKeychain.defaultGroup]),
                source: "no file \(path)")
        }
        let entitlements = try EmbeddedKeychain.entitlements([
            EmbeddedKeychain.entitlementsVariable: path
        ])
        return Caller(groups: entitlements.accessGroups, source: path)
    }

    // MARK: Showing

    private func show(
        _ findings: [Finding], _ setAside: [SetAsideRow], _ verification: VerificationState,
        _ caller: Caller
    ) throws {
        if json {
            let value = JSON.object([
                ("groups", .array(caller.groups.names.map { .string($0) })),
                ("groupsFrom", .string(caller.source)),
                ("findings", .array(findings.map(\.json))),
                ("setAside", .array(setAside.map(Self.json))),
                ("verified", .bool(verification.isVerified)),
                ("verifiedAt", .optional(verification.moment.map(timestamp))),
            ])
            return try Output.print(value.text)
        }
        var lines = [
            "groups: \(caller.groups.names.map(printable).joined(separator: ", ")) "
                + "(\(printable(caller.source)))"
        ]
        if verification.standing != .unneeded {
            lines.append("verified: " + VerificationText.text(of: verification))
        }
        lines += findings.map { "- " + $0.text }
        lines.append(SetAsideText.text(of: setAside))
        try Output.print(lines.joined(separator: "\n"))
    }

    private static func json(of row: SetAsideRow) -> JSON {
        .object([
            ("reference", .string(row.row.reference.description)),
            ("since", .string(timestamp(row.moment))),
            ("reason", .string(row.reasonText)),
            (
                "accessible",
                .optional(ProtectionClass(rawValue: row.row.protection)?.commandLineName)
            ),
            ("metadataByteCount", .count(row.row.metadata.count)),
            ("secretByteCount", row.row.secret.map { .count($0.count) } ?? .null),
        ])
    }
}

/// Formats rows that were set aside.
enum SetAsideText {
    static func text(of rows: [SetAsideRow]) -> String {
        let losses = rows.filter { $0.reason == .lostByRecovery }
        let items = rows.filter { $0.reason != .lostByRecovery }
        var lines: [String] = []
        if !items.isEmpty {
            let heading = ["  REFERENCE", "SINCE", "BYTES", "REASON"]
            lines.append("\(counted(items.count, "item")) set aside:")
            lines.append(table([heading] + items.map(cells)))
        }
        lines += losses.map { loss in
            "A recovery on \(timestamp(loss.moment)) may have lost unknown items, and the items "
                + "that it recovered may be earlier versions unless it reported otherwise. "
                + "Programs whose searches find nothing get an error about damage. "
                + "\(loss.row.reference) is the reference of this loss."
        }
        return lines.isEmpty ? "Nothing is set aside." : lines.joined(separator: "\n")
    }

    private static func cells(_ row: SetAsideRow) -> [String] {
        [
            "  " + row.row.reference.description, timestamp(row.moment),
            "\(row.row.metadata.count) + \(row.row.secret?.count ?? 0)", printable(row.reasonText),
        ]
    }
}
