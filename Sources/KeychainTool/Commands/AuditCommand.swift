// AuditCommand: shows and verifies the service's audit, and prints and then deletes the audit's
// verification key.

import ArgumentParser
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Shows which program requested what from the service, and verifies the audit.",
        discussion: """
            The service writes a record of each request: the time, the user and program, the \
            request, its result, and a label for each of at most 16 items. No record contains \
            names or values of items, with one exception: the record of systemd's request for the \
            credential of a unit contains the unit's name, which is also the item's service.

            --verify reports records that are missing or altered. It requires the verification \
            key: the twelve words that --take-key prints once. Until then the key is in a file \
            next to the audit, and an attacker who takes over the service can rewrite the audit \
            undetected.

            If nothing is missing or altered, --verify prints a value that represents all records: \
            a number and digits. Store it elsewhere and pass it to a later --verify with --expect: \
            this detects whether the whole audit was replaced by an earlier state. The service \
            also writes the value to its log at each start and stop.
            """)

    @Flag(help: "Checks that every record is present and unaltered.")
    var verify = false

    @Flag(help: "Prints the verification key and deletes it from the audit's folder.")
    var takeKey = false

    @Option(
        help: ArgumentHelp(
            "With --verify: reads the verification key from this file descriptor.",
            valueName: "number"))
    var keyFd: Int32?

    @Option(
        help: ArgumentHelp(
            "With --verify: the value printed by an earlier --verify, or from the service's log.",
            valueName: "number:digits"))
    var expect: String?

    @OptionGroup var selection: AuditSelection

    @Option(
        help: ArgumentHelp(
            "The audit's folder.",
            discussion: "Default: the folder “audit” in the keychain's folder, or next to it.",
            valueName: "path"))
    var folder: String?

    @Flag(help: "Writes JSON.")
    var json = false

    func validate() throws {
        guard !(verify && takeKey) else {
            throw ValidationError("--verify and --take-key can't be combined.")
        }
        guard verify || keyFd == nil && expect == nil else {
            throw ValidationError("--key-fd and --expect require --verify.")
        }
        guard expect.map({ AuditWitness($0) != nil }) != false else {
            throw ValidationError(
                "The value of --expect must be a number, a colon and 32 lower-case hexadecimal "
                    + "digits.")
        }
        guard selection.isEmpty || !verify && !takeKey else {
            throw ValidationError(
                "Options that select records can't be combined with --verify or --take-key.")
        }
    }

    func run() throws {
        let folder = try located()
        if takeKey { return try giveKey(folder) }
        if verify { return try verify(folder) }
        let records = try selection.records(of: folder)
        try Output.print(
            json ? JSON.array(records.map(AuditText.json)).text : AuditText.table(records))
    }

    /// The audit's folder. The audit of a user's keychain is in the keychain's folder; that of the
    /// machine's service is in the parent of all its keychain folders.
    private func located() throws -> AuditFolder {
        if let folder { return AuditFolder(path: folder) }
        let keychain = try KeychainPlace.folder().directory
        let parent = keychain.lastIndex(of: "/").map { String(keychain[..<$0]) } ?? ""
        for path in [keychain + "/audit", parent + "/audit"] where Files.isThere(path) {
            return AuditFolder(path: path)
        }
        throw ControlFailure(
            .notFound,
            "There is no audit for \(quoted(keychain)): no service has opened this keychain.")
    }

    // MARK: The verification key

    private func giveKey(_ folder: AuditFolder) throws {
        ProcessProtection.beginHoldingSecrets()
        guard let chain = try folder.position()?.chain else {
            throw ControlFailure(.notFound, "There is no audit in \(quoted(folder.path)).")
        }
        guard let key = try folder.verificationKey(of: chain) else {
            throw ControlFailure(.notFound, "The verification key was already taken.")
        }
        try Output.print(key.words.joined(separator: " "))
        try folder.eraseVerificationKey(of: chain)
        Output.complain(
            "These words verify the audit and are now stored nowhere else. Keep them away from "
                + "this machine: anyone who has them can forge the audit.")
    }

    private func verificationKey(_ folder: AuditFolder) throws -> RecoveryCode {
        ProcessProtection.beginHoldingSecrets()
        if let keyFd {
            return try RecoveryCode(words: SecretInput.fromDescriptor(keyFd, "verification key"))
        }
        if let chain = (try? folder.position())??.chain,
            let key = try folder.verificationKey(of: chain)
        {
            Output.complain(
                "The verification key is still stored next to the audit: an attacker who takes "
                    + "over the service can forge the audit. `keychainctl audit --take-key` "
                    + "removes the key.")
            return key
        }
        guard let terminal = Terminal() else {
            throw ControlFailure(
                .locked,
                "There is no terminal for a prompt. Provide the verification key with "
                    + "--key-fd.")
        }
        guard let typed = terminal.askHidden("Verification key: ") else {
            throw ControlFailure(.locked, "The input ended without an answer.")
        }
        return try RecoveryCode(words: typed)
    }

    private func verify(_ folder: AuditFolder) throws {
        let witness = expect.flatMap { AuditWitness($0) }
        let found = try AuditVerification(
            folder, key: try verificationKey(folder), expecting: witness)
        try Output.print(json ? AuditText.json(of: found).text : AuditText.text(of: found))
        guard found.findings.isEmpty else {
            throw ControlFailure(
                .damaged, "The audit was not fully verified: see the findings above.")
        }
        if witness != nil, !found.isExpectedReached {
            throw ControlFailure(
                .failure,
                "The record that --expect refers to was removed with the oldest file, so it was "
                    + "not verified.")
        }
    }
}
