// SecItemRuleTests: rules for sources that call the SecItem functions, and for the declarations of
// Apple's functions.

import Testing

@Suite struct `SecItem rules` {
    /// The files that create dictionaries for the SecItem functions.
    static func builders() throws -> [RepositoryFile] {
        let library = try Repository.files(in: "Sources/KeychainSecItem", suffix: ".swift")
        let systems = ["Capture", "TVRemote", "Fundamentals", "DeviceIdentity", "SignIn"]
        let examples = try
            (systems.map { "Examples/Systems/\($0)/Sources" }
            + ["Examples/GenericKeys/Sources"])
            .flatMap { try Repository.files(in: $0, suffix: ".swift") }
        // Files without `kSec`, such as stand-ins for servers, don't create dictionaries for the
        // SecItem functions.
        return (library + examples).filter { $0.lines.contains { $0.contains("kSec") } }
    }

    @Test func `no key of a SecItem dictionary is a string literal`() throws {
        var constantCount = 0
        for file in try Self.builders() {
            for (index, line) in file.lines.enumerated() {
                constantCount += line.matches(of: /\bkSec\w+/).count
                #expect(!Self.hasLiteralKey(line), "\(file):\(index + 1): \(line)")
            }
        }
        #expect(constantCount > 100)
    }

    @Test(arguments: [
        ("query[\"acct\"] = account", true), ("    \"acct\": account,", true),
        ("[\"class\": \"genp\"]", true), ("\"svce\" as String: service,", true),
        ("query[kSecAttrAccount as String] = \"acct\"", false),
        ("kSecAttrService as String: \"service\",", false), ("case \"locked\": done()", false),
        ("// query[\"acct\"]", false),
        ("#expect(accounts == [\"bob\"])", false), ("    (\"label\", kSecAttrLabel, 1),", false),
    ])
    func `a literal key is recognized in every form`(_ line: String, _ isLiteral: Bool) {
        #expect(Self.hasLiteralKey(line[...]) == isLiteral)
    }

    /// On macOS a dictionary without `kSecUseDataProtectionKeychain` applies to the file-based
    /// keychain.
    @Test func `a dictionary with a class requests the data-protection keychain`() throws {
        var count = 0
        for file in try Self.builders() where file.path.hasPrefix("Examples/Systems/") {
            let text = file.lines.joined(separator: "\n")
            let classes = text.matches(of: /kSecClass as String:/).count
            let demands = text.matches(of: /kSecUseDataProtectionKeychain as String: true/).count
            #expect(demands >= classes, "\(file)")
            count += classes
        }
        #expect(count >= 7)
    }

    /// Each call creates a new dictionary, because an earlier call could have changed a stored
    /// dictionary.
    @Test func `no SecItem dictionary is kept in a stored property`() throws {
        var count = 0
        for file in try Self.builders() {
            for (index, line) in file.lines.enumerated() where line.contains("[String: Any]") {
                count += 1
                #expect(!Self.keepsDictionary(line), "\(file):\(index + 1): \(line)")
            }
        }
        #expect(count > 30)
    }

    @Test(arguments: [
        ("    static let query: [String: Any] = [", true),
        ("    private var query: [String: Any] = [:]", true),
        ("        var query: [String: Any] = [:]", false), ("let query: [String: Any] = [:]", true),
        // A local constant in a function outside any type isn't a stored property.
        ("    let changes: [String: Any] = [", false),
        ("    private var query: [String: Any] {", false),
    ])
    func `a stored dictionary is recognized`(_ line: String, _ isKept: Bool) {
        #expect(Self.keepsDictionary(line[...]) == isKept)
    }

    private static func keepsDictionary(_ line: Substring) -> Bool {
        line.contains(/^(    (\w+ )+)?(let|var) \w+: \[String: Any\] =/)
    }

    @Test(arguments: ["kSecAttrAccessibleAlways", "kSecAttrAccessibleAlwaysThisDeviceOnly"])
    func `the always accessibility constants are deprecated`(_ name: String) throws {
        let lines = try Repository.file(
            "Sources/KeychainServices/Constants/AttributeConstants.swift"
        ).split(separator: "\n", omittingEmptySubsequences: false)
        let index = try #require(lines.firstIndex { $0.contains("let \(name): CFString") })
        let attributes = lines[..<index].reversed().prefix { !$0.isEmpty }.joined()
        #expect(attributes.contains("deprecated"))
        #expect(attributes.contains("@available("))
    }

    private static func hasLiteralKey(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        guard !code.hasPrefix("//"), !code.hasPrefix("case ") else { return false }
        return code.contains(#/\w\["[^"]*"\]|"[^"\\]*":|"[^"]*" as/#)
    }
}

@Suite struct `Apple's functions` {
    /// Functions whose result a caller should never ignore. Apple's headers mark
    /// `SecTrustEvaluateWithError` and `SecRandomCopyBytes` with `warn_unused_result`. The other
    /// two functions return whether a signature is genuine.
    static let verdicts: Set<String> = [
        "SecTrustEvaluateWithError", "SecRandomCopyBytes", "SecKeyVerifySignature",
        "SecKeyRawVerify",
    ]

    /// The declaration of a function.
    private struct Declaration {
        let name: String
        let place: String
        let isStatus: Bool
        let isDiscardable: Bool
    }

    private static func declarations() throws -> [Declaration] {
        var found: [Declaration] = []
        for file in try Repository.files(in: "Sources/KeychainServices", suffix: ".swift") {
            for (index, line) in file.lines.enumerated() {
                guard let name = line.firstMatch(of: /^public func (Sec\w+)/)?.1 else { continue }
                let end = file.lines[index...].prefix(16).first { $0.hasSuffix("{") }
                let attributes = file.lines[..<index].reversed()
                    .prefix { !$0.isEmpty && !$0.hasPrefix("///") }
                found.append(
                    Declaration(
                        name: String(name), place: "\(file):\(index + 1)",
                        isStatus: end?.firstMatch(of: /-> (OSStatus|Int32) \{$/) != nil,
                        isDiscardable: attributes.contains { $0.contains("@discardableResult") }))
            }
        }
        return found
    }

    /// Swift allows ignoring the result of an imported C function without a warning, and existing
    /// code does that: `SecItemDelete(query)` before an addition, for example.
    @Test func `a status can be ignored without a warning, as with imported functions`() throws {
        let statuses = try Self.declarations()
            .filter { $0.isStatus && !Self.verdicts.contains($0.name) }
        for function in statuses {
            #expect(function.isDiscardable, "\(function.place): \(function.name)")
        }
        #expect(statuses.count > 30)
    }

    @Test func `ignoring the result of a verification or SecRandomCopyBytes causes a warning`()
        throws
    {
        let verdicts = try Self.declarations().filter { Self.verdicts.contains($0.name) }
        #expect(Set(verdicts.map(\.name)) == Self.verdicts)
        for function in verdicts {
            #expect(!function.isDiscardable, "\(function.place): \(function.name)")
        }
    }
}
