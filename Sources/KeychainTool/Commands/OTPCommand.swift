// OTPCommand: one-time codes of RFC 6238 and RFC 4226, from items whose secrets are otpauth: URIs.
//   (1) The counter of an item is durably incremented before a code is shown, so no counter value
//       is used for two codes, even by two processes at the same time.
//   (2) Input that is neither a valid otpauth: URI nor a valid key in Base32 changes nothing.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainRuntime
import KeychainCrypto

struct OTPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "otp",
        abstract: "Shows one-time codes, and saves their keys.",
        discussion: """
            `keychainctl otp ITEM` shows a code, `keychainctl otp set ITEM` saves a key. For an \
            item whose name is “set” or “show”, write `keychainctl otp show NAME`.
            """,
        subcommands: [Show.self, Save.self], defaultSubcommand: Show.self)

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Writes the current code, or the next counted code, to standard output.",
            discussion: """
                At a terminal, it also shows how long a code of RFC 6238 is still valid. For \
                counted codes (RFC 4226), the counter is incremented before the code is shown.
                """)

        @OptionGroup var selection: SelectionOptions

        @OptionGroup var passcode: PasscodeOptions

        @OptionGroup var application: ApplicationPasswordOptions

        mutating func validate() throws {
            try selection.requireNarrowed()
            try InputOption.requireDistinct([
                InputOption("--passcode-fd", passcode.passcodeFd),
                InputOption("--application-password-fd", application.applicationPasswordFd),
            ])
        }

        func run() throws {
            let source = application.source(with: passcode)
            guard let session = try KeychainSession(existing: source) else {
                throw KeychainFailure.itemNotFound
            }
            defer { session.close() }
            ProcessProtection.beginHoldingSecrets()
            let item = try session.findOne(selection.queries)
            let secret = try session.nextCode(of: item)
            let now = UInt64(max(0, Date().timeIntervalSince1970))
            let code = secret.code(at: now)
            guard case .time(let period) = secret.kind, Descriptor.isTerminal(STDOUT_FILENO) else {
                return try Output.print(code)
            }
            try Output.print("\(code)  (\(counted(Int(period - now % period), "second")) left)")
        }
    }

    struct Save: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Saves an otpauth: URI, or a key in Base32.",
            discussion: """
                The input is read from standard input; at a terminal, it is asked for once, \
                without echo. A key in Base32 becomes a URI, with the options below. The secret of \
                the item is the URI, so that other programs can use it.
                """)

        @OptionGroup var key: KeyOptions

        @Option(
            help: ArgumentHelp("With a key in Base32: SHA1, SHA256 or SHA512.", valueName: "name"),
            completion: .list(OneTimeCode.Algorithm.allCases.map(\.rawValue)))
        var algorithm: String?

        @Option(
            help: ArgumentHelp(
                "With a key in Base32: the number of digits, 6 to 8. The default is 6.",
                valueName: "number"))
        var digits: Int?

        @Option(
            help: ArgumentHelp(
                "With a key in Base32: the number of seconds that a code is valid. The default is "
                    + "30.",
                valueName: "seconds"))
        var period: Int?

        @Option(
            help: ArgumentHelp(
                "With a key in Base32: the first counter, for counted codes (RFC 4226).",
                valueName: "number"))
        var counter: UInt64?

        @Option(help: ArgumentHelp("The label, for display.", valueName: "text"))
        var label: String?

        @Option(
            help: ArgumentHelp(
                "When the item can be read. The default for a new item is after-first-unlock.",
                valueName: "class"))
        var accessible: AccessibilityName?

        @Flag(help: "Fails if the item already exists.")
        var new = false

        @OptionGroup var passcode: PasscodeOptions

        @OptionGroup var application: ApplicationPasswordOptions

        mutating func validate() throws {
            try key.requireOneName()
            guard key.namesPlace else {
                throw ValidationError("Name the item with --service or --server.")
            }
            try saving.validate()
            guard counter == nil || period == nil else {
                throw ValidationError("--period and --counter can't be combined.")
            }
            try InputOption.requireDistinct([
                InputOption("The key", STDIN_FILENO),
                InputOption("--passcode-fd", passcode.passcodeFd),
                InputOption("--application-password-fd", application.applicationPasswordFd),
            ])
        }

        private var saving: ItemSaving {
            ItemSaving(
                key: key, remarks: label.map { [.label: .string($0)] } ?? [:],
                accessible: accessible, new: new)
        }

        func run() throws {
            try KeychainPlace.connect()
            ProcessProtection.beginHoldingSecrets()
            let secret = try read()
            let session = try KeychainSession(making: application.source(with: passcode))
            defer { session.close() }
            try saving.save(Data(secret.uri.utf8), in: session)
        }

        private static let longest = 1 << 16

        private func read() throws -> OneTimeSecret {
            var bytes: [UInt8]
            if Descriptor.isTerminal(STDIN_FILENO), let terminal = Terminal() {
                guard let line = terminal.askHidden("otpauth: URI or Base32 key: ") else {
                    throw ControlFailure(
                        .failure, "The input ended without an answer. Nothing was changed.")
                }
                bytes = line.plainBytes
            } else {
                bytes = try Descriptor.readToEnd(of: STDIN_FILENO, atMost: Self.longest)
            }
            while let last = bytes.last, [0x0A, 0x0D, 0x20].contains(last) { bytes.removeLast() }
            let text = String(validating: bytes, as: UTF8.self) ?? ""
            do {
                return try secret(of: text)
            } catch {
                throw ControlFailure(.failure, "\(error.text) Nothing was saved.")
            }
        }

        private func secret(of text: String) throws(OneTimeSecret.Problem) -> OneTimeSecret {
            var parameters: [(name: String, value: String)] = []
            if let algorithm { parameters.append(("algorithm", algorithm)) }
            if let digits { parameters.append(("digits", String(digits))) }
            if let period { parameters.append(("period", String(period))) }
            if let counter { parameters.append(("counter", String(counter))) }
            guard text.lowercased().hasPrefix("otpauth:") else {
                let names = [Attribute.service, .server, .account].compactMap { name in
                    if case .string(let text) = key.attributes[name] { text } else { nil }
                }
                return try OneTimeSecret(
                    base32: text, label: names.joined(separator: ":"), parameters: parameters)
            }
            guard parameters.isEmpty else {
                throw OneTimeSecret.Problem(
                    "--algorithm, --digits, --period and --counter are for keys in Base32: an "
                        + "otpauth: URI already contains these values.")
            }
            return try OneTimeSecret(text)
        }
    }
}

extension KeychainSession {
    /// Returns the secret for the item's next code. If the item has a counter (RFC 4226), no later
    /// call uses the same counter value.
    fileprivate func nextCode(of item: ItemSnapshot) throws -> OneTimeSecret {
        // Another process may increment the counter between reading and updating.
        for _ in 0..<64 {
            let taken = try authenticating { authorization throws(KeychainFailure) in
                try take(item.reference, of: item.itemClass, authorization)
            }
            switch taken {
            case .success(let secret): return secret
            case .failure(.changed): continue
            case .failure(.unusable(let problem)):
                throw ControlFailure(
                    .failure,
                    "The item's secret can't generate codes. \(problem) Save a key for codes with "
                        + "`keychainctl otp set`.")
            }
        }
        throw ControlFailure(
            .failure, "Other processes keep changing the item. Nothing was changed. Try again.")
    }

    private enum Missed: Error {
        case changed
        case unusable(String)
    }

    private func take(
        _ reference: ItemReference, of itemClass: ItemClass, _ authorization: Authorization
    ) throws(KeychainFailure) -> Result<OneTimeSecret, Missed> {
        var query = ItemQuery(
            itemClass: itemClass, isSynchronizable: nil, reference: reference,
            authorization: authorization)
        let found = try keychain.perform(
            FindItems(query, Retrieval(includesData: true)), as: caller)
        guard let item = found.first else { throw .itemNotFound }
        guard let data = item.data, let text = String(validating: data, as: UTF8.self) else {
            return .failure(.unusable("It is not an otpauth: URI."))
        }
        let secret: OneTimeSecret
        do {
            secret = try OneTimeSecret(text.trimmingSuffix { $0.isWhitespace })
        } catch {
            return .failure(.unusable(error.text))
        }
        guard case .counter = secret.kind else { return .success(secret) }
        guard let advanced = secret.advanced else {
            return .failure(.unusable("Its counter has reached the maximum."))
        }
        // Each change gets a unique modification date, so this updates either the version that was
        // read, or nothing.
        query.attributes[.modificationDate] = item.attributes[.modificationDate]
        do throws(KeychainFailure) {
            _ = try keychain.perform(
                UpdateItems(query, ItemChanges(data: Data(advanced.uri.utf8))), as: caller)
            return .success(secret)
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return .failure(.changed)
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ isLeftOut: (Character) -> Bool) -> String {
        var result = self[...]
        while let last = result.last, isLeftOut(last) { result.removeLast() }
        return String(result)
    }
}
