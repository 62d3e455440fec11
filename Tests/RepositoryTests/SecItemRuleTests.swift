// SecItemRuleTests: what can be read off the sources that speak to the SecItem functions.

import Testing

@Suite struct `SecItem rules` {
    /// The places where dictionaries for the SecItem functions are made.
    static func builders() throws -> [RepositoryFile] {
        let library = try Repository.files(in: "Sources/KeychainSecItem", suffix: ".swift")
        let systems = ["Capture", "TVRemote", "Fundamentals", "DeviceIdentity", "SignIn"]
        let examples = try
            (systems.map { "Examples/Systems/\($0)/Sources" }
            + ["Examples/GenericKeys/Sources"])
            .flatMap { try Repository.files(in: $0, suffix: ".swift") }
        // Stand-ins for servers and values of the applications have dictionaries of their own.
        return (library + examples).filter { $0.lines.contains { $0.contains("kSec") } }
    }

    @Test func `no key of a dictionary is a literal`() throws {
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

    /// On macOS a dictionary without this key is for the file-based keychain.
    @Test func `what names a class asks for the data-protection keychain`() throws {
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

    /// A call makes its dictionary anew; one that is kept could be changed by an earlier call.
    @Test func `no dictionary of a builder is kept`() throws {
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
        // Of a function that stands in no type.
        ("    let changes: [String: Any] = [", false),
        ("    private var query: [String: Any] {", false),
    ])
    func `a dictionary that is kept is recognized`(_ line: String, _ isKept: Bool) {
        #expect(Self.keepsDictionary(line[...]) == isKept)
    }

    private static func keepsDictionary(_ line: Substring) -> Bool {
        line.contains(/^(    (\w+ )+)?(let|var) \w+: \[String: Any\] =/)
    }

    @Test(arguments: ["kSecAttrAccessibleAlways", "kSecAttrAccessibleAlwaysThisDeviceOnly"])
    func `always is deprecated`(_ name: String) throws {
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
