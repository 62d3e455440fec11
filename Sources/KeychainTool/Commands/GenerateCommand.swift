// GenerateCommand: generates a random secret and saves it.
//   (1) An existing secret is replaced only with --replace.
//   (2) Every character or word has the same probability. The random numbers come from the system's
//       generator.
//   (3) The secret is shown only with --print.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto

struct GenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generates a random secret and saves it.",
        discussion: """
            The default is 24 letters and digits. An existing item is left unchanged, unless \
            --replace is given. The entropy of the secret is reported in bits.
            """)

    @OptionGroup var key: KeyOptions

    @Option(help: ArgumentHelp("The number of characters, 1 to 1024.", valueName: "number"))
    var length: Int?

    @Option(help: ArgumentHelp("The set of characters to use.", valueName: "name"))
    var alphabet: SecretAlphabet?

    @Option(
        help: ArgumentHelp(
            "The characters to use, each listed once.", valueName: "text"))
    var characters: String?

    @Option(
        help: ArgumentHelp(
            "Uses words instead of characters: this many, 1 to 128, from a list of 2048.",
            valueName: "number"))
    var words: Int?

    @Option(help: ArgumentHelp("The separator between words.", valueName: "text"))
    var separator = "-"

    @Option(help: ArgumentHelp("The label, for display.", valueName: "text"))
    var label: String?

    @Option(
        help: ArgumentHelp(
            "When the item can be read. The default for a new item is after-first-unlock.",
            valueName: "class"))
    var accessible: AccessibilityName?

    @Flag(help: "Replaces the secret of an existing item.")
    var replace = false

    @Flag(
        name: .customLong("print"),
        help: "Writes the secret to standard output, followed by a newline.")
    var isPrinted = false

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    mutating func validate() throws {
        try key.requireOneName()
        guard key.namesPlace else {
            throw ValidationError("Name the item with --service or --server.")
        }
        try saving.validate()
        if words != nil, length != nil || alphabet != nil || characters != nil {
            throw ValidationError(
                "--words can't be combined with --length, --alphabet or --characters.")
        }
        if alphabet != nil, characters != nil {
            throw ValidationError("--alphabet and --characters can't be combined.")
        }
        guard (1...1024).contains(length ?? 1), (1...128).contains(words ?? 1) else {
            throw ValidationError("A secret has 1 to 1024 characters, or 1 to 128 words.")
        }
        if let characters, characters.count < 2 || Set(characters).count != characters.count {
            throw ValidationError(
                "--characters requires at least two characters, each listed once: a repeated "
                    + "character would be more likely."
            )
        }
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
    }

    private var saving: ItemSaving {
        ItemSaving(
            key: key, remarks: label.map { [.label: .string($0)] } ?? [:], accessible: accessible,
            new: !replace)
    }

    func run() throws {
        try KeychainPlace.connect()
        ProcessProtection.beginHoldingSecrets()
        let secret = made
        let session = try KeychainSession(making: application.source(with: passcode))
        defer { session.close() }
        do {
            try saving.save(Data(secret.text.utf8), in: session)
        } catch let failure as KeychainFailure where failure.status == .duplicateItem {
            throw ControlFailure(
                .exists, "The item already exists. --replace replaces its secret.")
        }
        let remark = "Saved \(secret.size): \(secret.bits) bits of entropy."
        guard isPrinted else { return try Output.print(remark) }
        Output.complain(remark)
        try Output.print(secret.text)
    }

    private var made: RandomSecret {
        if let words { return RandomSecret(words: words, separator: separator) }
        return RandomSecret(
            length: length ?? 24,
            of: Array(characters ?? (alphabet ?? .alphanumeric).characters))
    }
}

enum SecretAlphabet: String, CaseIterable, ExpressibleByArgument {
    case alphanumeric, letters, digits, hex
    /// All visible ASCII characters.
    case printable

    var characters: String {
        switch self {
        case .alphanumeric: Self.letters.characters + Self.digits.characters
        case .letters: Self.text("a"..."z") + Self.text("A"..."Z")
        case .digits: Self.text("0"..."9")
        case .hex: Self.digits.characters + Self.text("a"..."f")
        case .printable: Self.text("!"..."~")
        }
    }

    private static func text(_ range: ClosedRange<Unicode.Scalar>) -> String {
        String(
            String.UnicodeScalarView(
                (range.lowerBound.value...range.upperBound.value).compactMap(Unicode.Scalar.init)))
    }
}

struct RandomSecret {
    let text: String
    /// The number of characters or words, with its unit.
    let size: String
    /// The entropy in bits, rounded down.
    let bits: Int

    init(length: Int, of characters: [Character]) {
        text = String(Self.drawn(length, of: characters))
        size = counted(length, "character")
        bits = Self.bits(length, of: characters.count)
    }

    init(words: Int, separator: String) {
        let list = RecoveryWords.all.map { String(decoding: $0, as: UTF8.self) }
        text = Self.drawn(words, of: list).joined(separator: separator)
        size = counted(words, "word")
        bits = Self.bits(words, of: list.count)
    }

    /// Draws elements with equal probability: `SystemRandomNumberGenerator` is the system's
    /// generator, and `randomElement` avoids modulo bias by drawing again.
    private static func drawn<Element>(_ count: Int, of elements: [Element]) -> [Element] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).compactMap { _ in elements.randomElement(using: &generator) }
    }

    private static func bits(_ count: Int, of choices: Int) -> Int {
        Int(Double(count) * log2(Double(choices)) + 1e-9)
    }
}
