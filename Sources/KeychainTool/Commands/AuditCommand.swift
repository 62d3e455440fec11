// AuditCommand: shows and verifies the service's audit.

import ArgumentParser
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Shows which program asked the service for what, and verifies that account.",
        discussion: """
            The service writes a record of each request: when, which user and program, what was \
            asked, what came of it, and a label for each item. No name and no value is in it.

            --verify says where a record is missing or altered. It takes the verification key: the \
            twelve words that --take-key prints, once. Until they are taken away they lie in a file \
            beside the audit, and whoever takes the service over can write it anew.

            --verify ends with what stands for all records, a number and digits. Kept somewhere \
            else and given with --expect, they tell when the whole audit is put back to what it \
            was before. The service's log has them as well, at each start and end.
            """)

    @Flag(help: "Says whether every record is there and as it was written.")
    var verify = false

    @Flag(help: "Prints the verification key, and removes it from beside the audit.")
    var takeKey = false

    @Option(
        help: ArgumentHelp(
            "With --verify, reads the verification key from this file descriptor.",
            valueName: "number"))
    var keyFd: Int32?

    @Option(
        help: ArgumentHelp(
            "With --verify, what an earlier --verify or the service's log gave.",
            valueName: "number:digits"))
    var expect: String?

    @OptionGroup var selection: AuditSelection

    @Option(
        help: ArgumentHelp(
            "The folder of the audit.",
            discussion: "Default: that of the keychain, and audit behind it.", valueName: "path"))
    var folder: String?

    @Flag(help: "Writes JSON.")
    var json = false

    func validate() throws {
        guard !(verify && takeKey) else {
            throw ValidationError("--verify and --take-key don't go together.")
        }
        guard verify || keyFd == nil && expect == nil else {
            throw ValidationError("--key-fd and --expect require --verify.")
        }
        guard expect.map({ AuditWitness($0) != nil }) != false else {
            throw ValidationError("--expect takes a number, a colon and 32 digits.")
        }
        guard selection.isEmpty || !verify && !takeKey else {
            throw ValidationError("All records are verified, and one key is taken.")
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
            "There is no audit beside \(quoted(keychain)): no service has kept this keychain.")
    }

    // MARK: The verification key

    private func giveKey(_ folder: AuditFolder) throws {
        ProcessProtection.beginHoldingSecrets()
        guard let chain = try folder.position()?.chain else {
            throw ControlFailure(.notFound, "There is no audit in \(quoted(folder.path)).")
        }
        guard let key = try folder.verificationKey(of: chain) else {
            throw ControlFailure(.notFound, "The verification key was taken away already.")
        }
        try Output.print(key.words.joined(separator: " "))
        try folder.eraseVerificationKey(of: chain)
        Output.complain(
            "These words verify the audit, and they are nowhere else now. Keep them away from this "
                + "machine: who has them can write the audit anew.")
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
                "The verification key lies beside the audit: whoever takes the service over can "
                    + "write it anew. `keychainctl audit --take-key` takes the key away.")
            return key
        }
        guard let terminal = Terminal() else {
            throw ControlFailure(
                .locked, "There is no terminal to ask at. Give the verification key with --key-fd.")
        }
        guard let typed = terminal.askHidden("Verification key: ") else {
            throw ControlFailure(.locked, "Nothing was entered.")
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
                .damaged, "The audit is not as it was written: see the lines above.")
        }
        if witness != nil, !found.isExpectedReached {
            throw ControlFailure(
                .failure,
                "What --expect names was removed with the oldest file, and isn't verified.")
        }
    }
}
