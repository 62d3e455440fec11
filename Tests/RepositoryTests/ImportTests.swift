// The modules that each module may import. SwiftPM alone doesn't prevent an undeclared import of a
// sibling module in an incremental build.

import Testing

/// The imports that a module may have in addition to those that every module may have.
struct ImportRow: CustomStringConvertible {
    let module: String
    let imports: Set<String>

    var description: String { module }
}

@Suite struct `Imports` {
    /// The rows are in the order of dependency: each module imports only modules of rows above.
    static let table = [
        ImportRow(module: "KeychainCore", imports: []),
        ImportRow(
            module: "KeychainCrypto",
            imports: ["KeychainCore", "Crypto", "CryptoExtras"]),
        ImportRow(
            module: "KeychainAsymmetricKeys",
            imports: [
                "KeychainCore", "KeychainCrypto", "Crypto", "CryptoExtras", "SwiftASN1",
                "NIOSSL",
            ]),
        ImportRow(
            module: "KeychainSQLite",
            imports: ["KeychainCore", "KeychainCrypto", "CKeychainSQLite"]),
        ImportRow(
            module: "KeychainEngine",
            imports: ["KeychainCore", "KeychainCrypto", "KeychainSQLite", "Logging"]),
        ImportRow(
            module: "KeychainSynchronization",
            imports: ["KeychainCore", "KeychainCrypto", "KeychainSQLite", "Crypto"]),
        ImportRow(
            module: "KeychainSynchronizer",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainEngine",
                "KeychainSynchronization",
            ]),
        ImportRow(
            module: "KeychainEtcd",
            imports: ["AsyncHTTPClient", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOSSL"]),
        ImportRow(
            module: "KeychainRelay",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainSynchronization", "KeychainEtcd",
            ]),
        ImportRow(
            module: "KeychainTPM", imports: ["KeychainCore", "KeychainCrypto", "CKeychainTSS2"]),
        ImportRow(module: "KeychainWire", imports: ["KeychainCore"]),
        ImportRow(
            module: "KeychainRuntime",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainEngine", "KeychainWire", "KeychainTPM",
                "KeychainSynchronizer",
            ]),
        ImportRow(
            module: "KeychainDaemon",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainEngine", "KeychainWire",
                "KeychainRuntime", "KeychainTPM", "NIOCore", "NIOPosix", "ServiceLifecycle",
                "UnixSignals", "Logging", "ArgumentParser",
            ]),
        ImportRow(module: "keychaind", imports: ["KeychainDaemon"]),
        // The imports of the following two modules are Apple's system modules.
        ImportRow(module: "KeychainAuthenticationDarwin", imports: ["LocalAuthentication"]),
        ImportRow(module: "KeychainServicesDarwin", imports: ["Security", "CryptoKit"]),
        ImportRow(
            module: "KeychainAuthentication",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainEngine",
                "KeychainAuthenticationDarwin",
            ]),
        ImportRow(module: "KeychainAuthenticationAliasShim", imports: ["KeychainAuthentication"]),
        ImportRow(
            module: "KeychainServices",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainEngine",
                "KeychainAuthentication", "KeychainAsymmetricKeys",
                "KeychainServicesDarwin", "X509", "SwiftASN1",
            ]),
        ImportRow(
            module: "KeychainSecItem",
            imports: [
                "KeychainCore", "KeychainRuntime", "KeychainAuthentication", "KeychainServices",
                "KeychainServicesDarwin", "Crypto",
            ]),
        ImportRow(
            module: "KeychainCryptoKit",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainAuthentication",
                "KeychainServices", "Crypto",
            ]),
        ImportRow(module: "KeychainCryptoKitAliasShim", imports: ["KeychainCryptoKit"]),
        ImportRow(module: "KeychainServicesAliasShim", imports: ["KeychainServices"]),
        ImportRow(
            module: "Keychain",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainEngine",
                "KeychainAuthentication", "KeychainSecItem", "Crypto",
            ]),
        ImportRow(
            module: "KeychainTesting",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainAsymmetricKeys", "KeychainSQLite",
                "KeychainRuntime", "KeychainEngine", "KeychainAuthentication", "KeychainServices",
                "KeychainSecItem", "Keychain",
            ]),
        ImportRow(
            module: "KeychainTool",
            imports: [
                "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainRuntime",
                "KeychainEngine",
                "KeychainTPM", "ArgumentParser", "Logging", "KeychainSynchronization",
                "KeychainRelay", "KeychainEtcd", "UnixSignals",
            ]),
        ImportRow(module: "keychainctl", imports: ["KeychainTool"]),
    ]

    /// Modules of the system and the language. KeychainCore has no I/O and may import only `pure`,
    /// which includes Glibc for memory that is locked and erased.
    static let everywhere: Set<String> = [
        "FoundationEssentials", "Foundation", "Glibc", "Musl", "Android", "Darwin", "Dispatch",
        "Synchronization", "Observation",
    ]
    static let pure: Set<String> = ["FoundationEssentials", "Glibc", "Synchronization"]
    /// A program that imports only these modules doesn't link Foundation, which would make the
    /// program many times larger. The tools are such programs.
    static let lean: Set<String> = [
        "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainEngine", "KeychainTPM",
        "KeychainSynchronization", "KeychainSynchronizer", "KeychainEtcd", "KeychainRelay",
        "KeychainWire", "KeychainRuntime", "KeychainDaemon", "keychaind", "KeychainTool",
        "keychainctl",
    ]

    @Test func `the table of allowed imports contains exactly the modules of the package`() throws {
        let modules = Set(try Repository.sources().compactMap(\.module))
        #expect(modules == Set(Self.table.map(\.module)))
    }

    @Test(arguments: table)
    func `each row of the table of allowed imports matches the manifest`(_ row: ImportRow) throws {
        let target = try #require(try Manifest().target(row.module))
        // Apple's system modules are in no manifest.
        let others = row.imports.subtracting(["Security", "LocalAuthentication", "CryptoKit"])
        #expect(others == Set(target.dependencies.map(\.name)))
    }

    @Test(arguments: table)
    func `a module imports only what the table of allowed imports permits`(_ row: ImportRow) throws
    {
        let files = try Repository.sources().filter { $0.module == row.module }
        #expect(!files.isEmpty)
        let common = row.module == "KeychainCore" ? Self.pure : Self.everywhere
        var allowed = row.imports.union(
            Self.lean.contains(row.module) ? common.subtracting(["Foundation"]) : common)
        // KeychainServices uses CoreFoundation to read a Foundation dictionary without bridging.
        if row.module == "KeychainServices" { allowed.insert("CoreFoundation") }
        for file in files {
            // Apple's platforms have no FoundationEssentials, and this package builds no programs
            // there that could be smaller without Foundation.
            for (platform, allowed) in [
                (.linux, allowed), (.apple, row.imports.union(Self.everywhere)),
            ]
                as [(SourcePlatform, Set<String>)]
            {
                let forbidden = Self.imports(of: file.code(on: platform)).subtracting(allowed)
                #expect(forbidden.isEmpty, "\(file) imports \(forbidden.sorted())")
            }
        }
    }

    /// Requirements.md, section 0, requires that the keychain layers of these applications are raw
    /// SecItem code, which imports modules by Apple's names.
    @Test(arguments: [
        ("Capture", ["Capture"]), ("TVRemote", ["TVRemote"]),
        ("Fundamentals", ["SecItemFundamentals"]), ("DeviceIdentity", ["DeviceIdentity"]),
        ("SignIn", ["SignIn"]),
    ])
    func `the example systems import Apple's modules and none of this package`(
        _ system: String, _ own: [String]
    ) throws {
        let allowed = Self.everywhere.union(own).union([
            "Security", "CryptoKit", "LocalAuthentication", "FoundationNetworking", "os",
            // The systems' console log on Linux, and the stand-ins for their servers.
            "Logging", "StandIn",
        ])
        var securityCount = 0
        for file in try Repository.files(
            in: "Examples/Systems/\(system)/Sources", suffix: ".swift")
        {
            let imports = Self.imports(of: file)
            let forbidden = imports.subtracting(allowed)
            #expect(forbidden.isEmpty, "\(file) imports \(forbidden.sorted())")
            if imports.contains("Security") { securityCount += 1 }
        }
        #expect(securityCount > 0)
    }

    /// The tests above rely on this recognition of imports.
    @Test(arguments: [
        ("import Logging", "Logging"), ("@testable import Keychain", "Keychain"),
        ("package import Crypto", "Crypto"), ("@_exported public import Foundation", "Foundation"),
        ("    import struct Foundation.Data", "Foundation"), ("import Glibc // why", "Glibc"),
    ])
    func `an import is recognized in every form`(_ line: String, _ module: String) {
        let file = RepositoryFile(path: "Sources/M/F.swift", lines: [line[...]])
        #expect(Self.imports(of: file) == [module])
    }

    @Test(arguments: ["// import Logging", "let important = 1", "let text = \"import Logging\""])
    func `text that only looks like an import isn't recognized as one`(_ line: String) {
        let file = RepositoryFile(path: "Sources/M/F.swift", lines: [line[...]])
        #expect(Self.imports(of: file).isEmpty)
    }

    static func imports(of file: RepositoryFile) -> Set<String> { imports(of: file.codeLines) }

    static func imports(of lines: [(number: Int, text: String)]) -> Set<String> {
        let kinds: Set<Substring> = [
            "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
        ]
        return Set(
            lines.compactMap { _, text -> String? in
                guard text.contains("import") else { return nil }
                let words = text.split(whereSeparator: { $0 == " " || $0 == ";" })
                guard let index = words.firstIndex(of: "import"),
                    words[..<index].allSatisfy({ isModifier($0) })
                else { return nil }
                let rest = words[(index + 1)...].drop { kinds.contains($0) }
                return rest.first.map { String($0.prefix { $0 != "." }) }
            })
    }

    private static func isModifier(_ word: Substring) -> Bool {
        word.hasPrefix("@")
            || ["public", "package", "internal", "fileprivate", "private"].contains(word)
    }
}
