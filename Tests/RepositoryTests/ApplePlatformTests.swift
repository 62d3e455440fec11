// ApplePlatformTests: the code that is compiled for Apple's platforms, according to the sources and
// the manifest. The tests compare this code with ApplePlatforms.md, and with the package
// AppleConfiguration, which compiles the same code on Linux.

import Testing

@Suite struct `Apple's platforms` {
    /// The targets of the library products, on which a program in another package can depend.
    static let products = [
        "Keychain", "KeychainServices", "KeychainAuthentication", "KeychainCryptoKit",
        "KeychainTesting", "KeychainServicesAliasShim", "KeychainAuthenticationAliasShim",
        "KeychainCryptoKitAliasShim",
    ]
    /// Modules of Apple's systems, and `Crypto`, which is also built on Apple's platforms.
    static let system: Set<String> = [
        "Darwin", "Foundation", "Dispatch", "Synchronization", "Observation", "Security",
        "LocalAuthentication", "CryptoKit", "Crypto",
    ]
    static let document = "Documentation/ApplePlatforms.md"

    /// The modules that are built on Apple's platforms for any of the products.
    static func built() throws -> Set<String> {
        let manifest = try Manifest()
        let closures = products.map { manifest.closure(of: $0, onApple: true) }
        let modules = Set(try Repository.sources().compactMap(\.module))
        return closures.reduce(into: Set<String>()) { $0.formUnion($1) }.intersection(modules)
    }

    /// The rows of the document's table under a heading, as the texts of their cells.
    static func table(_ heading: String) throws -> [[String]] {
        let lines = try Repository.file(document).split(separator: "\n")
        let rows = lines.drop { $0 != "## \(heading)" }.drop { !$0.hasPrefix("|") }
            .prefix { $0.hasPrefix("|") }.dropFirst(2)
        return rows.map { row in
            row.split(separator: "|").map { String($0.trimming(while: { $0 == " " || $0 == "`" })) }
        }
    }

    // MARK: The document

    @Test func `ApplePlatforms.md lists every module and its state on Apple's platforms`() throws {
        let (built, sources) = (try Self.built(), try Repository.sources())
        var expected: [String: String] = [:]
        for module in Set(sources.compactMap(\.module)) {
            let files = sources.filter { $0.module == module }
            let isEmpty = files.allSatisfy { $0.isEmpty(on: .apple) }
            let isWhole = files.allSatisfy(\.platformConditions.isEmpty)
            expected[module] =
                if !built.contains(module) { "not built" } else if isEmpty {
                    "empty"
                } else if isWhole {
                    "whole"
                } else { "in part" }
        }
        let rows = try Self.table("The modules")
        #expect(rows.count == Set(rows.map(\.first)).count)
        for row in rows { #expect(expected[row[0]] == row[1], "\(row[0])") }
        #expect(Set(rows.map { $0[0] }) == Set(expected.keys))
    }

    /// A file that `#if !canImport(Darwin)` leaves out completely must not be listed.
    @Test func `ApplePlatforms.md lists every source file that has a platform condition`() throws {
        let files = try Repository.sources().filter {
            !$0.platformConditions.isEmpty && !$0.isLeftOutOnApple
        }
        let rows = try Self.table("The conditions")
        #expect(Set(rows.map { "Sources/\($0[0])" }) == Set(files.map(\.path)))
        for row in rows {
            let count = files.first { "Sources/\(row[0])" == $0.path }?.platformConditions.count
            #expect(count == Int(row[1]), "\(row[0])")
        }
    }

    /// ApplePlatforms.md names the source file that may check the operating system's version.
    @Test func `only one source file checks the version of an operating system`() throws {
        let path = "Keychain/Values/KeychainValue+Crypto.swift"
        #expect(try Repository.file(Self.document).contains("`\(path)`"))
        for file in try Repository.sources() where file.path != "Sources/\(path)" {
            for (number, line) in file.codeLines {
                guard line.contains("available") else { continue }
                let asks = line.contains(/#(un)?available\b|@available\((macOS|iOS)/)
                #expect(!asks, "\(file):\(number)")
            }
        }
    }

    // MARK: The sources

    @Test func `code that is compiled on Apple's platforms imports only modules that exist there`()
        throws
    {
        let (built, manifest) = (try Self.built(), try Manifest())
        var count = 0
        for file in try Repository.sources() {
            guard let module = file.module, built.contains(module) else { continue }
            let own = manifest.closure(of: module, onApple: true).intersection(built)
            let imports = Imports.imports(of: file.code(on: .apple))
            let missing = imports.subtracting(Self.system).subtracting(own)
            #expect(missing.isEmpty, "\(file) imports \(missing.sorted())")
            count += imports.count
        }
        #expect(count > 50)
    }

    @Test(arguments: [
        ("canImport(Darwin)", true, false), ("!canImport(Darwin)", false, true),
        ("NSStringHashing && !canImport(Darwin)", false, true),
        ("canImport(Glibc) || canImport(Musl)", false, true),
        ("!(os(Linux) || canImport(Darwin))", false, false), ("TPM", true, true),
    ])
    func `a platform condition is parsed`(_ text: String, _ onApple: Bool, _ onLinux: Bool) {
        #expect(PlatformCondition.holds(text[...], on: .apple) == onApple)
        #expect(PlatformCondition.holds(text[...], on: .linux) == onLinux)
        #expect(PlatformCondition.isAboutPlatform(text[...]) == (onApple != onLinux || !onApple))
    }

    @Test(arguments: ["canImport(Unknown)", "os(Plan9)", "TPM &&", "(TPM", "a ? b"])
    func `a platform condition that can't be parsed has no result`(_ text: String) {
        #expect(PlatformCondition.holds(text[...], on: .apple) == nil)
    }

    @Test func `the code for Apple's platforms and the code for Linux in a file are told apart`() {
        let file = RepositoryFile(
            path: "Sources/M/F.swift",
            lines: [
                "a", "#if canImport(Darwin)", "b", "#if TPM", "c", "#endif", "#elseif os(Linux)",
                "d",
                "#else", "e", "#endif", "// f",
            ])
        #expect(file.code(on: .apple).map(\.text) == ["a", "b", "c", ""])
        #expect(file.code(on: .linux).map(\.text) == ["a", "d", ""])
        #expect(file.platformConditions.map(\.number) == [2, 7])
        #expect(!file.isLeftOutOnApple)
        let left = RepositoryFile(
            path: "Sources/M/G.swift", lines: ["// g", "#if !canImport(Darwin)", "a", "#endif"])
        #expect(left.isLeftOutOnApple)
        let values = RepositoryFile(
            path: "Sources/M/H.swift",
            lines: [
                "#if canImport(Darwin)", "package import Foundation", "#else",
                "package import FoundationEssentials", "#endif",
            ])
        #expect(values.platformConditions.isEmpty)
    }

    // MARK: The package

    /// The modules of the package AppleConfiguration and their dependencies, which its manifest
    /// declares in the form `apple("Keychain", ["AppleKeychainSecItem", crypto])`.
    private static func packageTargets() throws -> [String: Set<String>] {
        let text = try Repository.file("Tests/AppleConfiguration/Package.swift")
        let calls = text.matches(of: /\n {8}apple\(\s*"(\w+)"(?:,\s*\[([^\]]*)\])?\)/)
        return Dictionary(
            uniqueKeysWithValues: calls.map { call in
                (String(call.1), Set((call.2 ?? "").matches(of: /\w+/).map { String($0.0) }))
            })
    }

    @Test func `the AppleConfiguration package has the modules and dependencies of Apple's build`()
        throws
    {
        let (built, manifest) = (try Self.built(), try Manifest())
        let targets = try Self.packageTargets()
        #expect(Set(targets.keys) == built)
        for (name, dependencies) in targets {
            let expected = (manifest.target(name)?.dependencies ?? []).filter { !$0.isForOthers }
                .map { $0.isLibrary ? $0.name.lowercased() : "Apple\($0.name)" }
            // The modules that replace Apple's system modules on Linux.
            let standIns: Set<String> = ["security", "localAuthentication", "cryptoKit"]
            #expect(dependencies.subtracting(standIns) == Set(expected), "\(name)")
        }
    }
}

extension RepositoryFile {
    /// Whether the file begins with a condition such as `#if !canImport(Darwin)`, and none of its
    /// code is compiled for Apple's platforms.
    fileprivate var isLeftOutOnApple: Bool {
        platformConditions.first?.text.contains("!canImport(Darwin)") == true
            && isEmpty(on: .apple)
            && codeLines.first { !$0.text.allSatisfy(\.isWhitespace) }?.text.hasPrefix("#if")
                == true
    }
}

extension Substring {
    fileprivate func trimming(while isTrimmed: (Character) -> Bool) -> Substring {
        var rest = drop(while: isTrimmed)
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return rest
    }
}
