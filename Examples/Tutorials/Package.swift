// swift-tools-version: 6.2
import PackageDescription

/// The identity of the package swift-keychain, by which SwiftPM looks up module aliases. If a
/// dependency specifies the package by URL, the identity is the last component of the URL,
/// "swift-keychain". If it specifies a path, the identity is the name of the folder, which can be
/// any name in a clone.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// A product with module aliases, which is linked only on Linux.
func product(_ name: String, _ aliases: [String: String]) -> Target.Dependency {
    .product(
        name: name, package: swiftKeychain, moduleAliases: aliases,
        condition: .when(platforms: [.linux]))
}

let aliases = ["KeychainServices": "Security", "KeychainAuthentication": "LocalAuthentication"]
/// Every target depends on all three modules, because SwiftPM 6.3 doesn't reliably apply aliases in
/// a package whose targets depend on only some of the aliased products.
let modules = [
    product("KeychainServices", aliases), product("KeychainAuthentication", aliases),
    product("KeychainCryptoKit", ["KeychainCryptoKit": "CryptoKit"]),
]
let keychain = product("Keychain", aliases)
let keychainTesting = product("KeychainTesting", aliases)

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "Tutorials",
    platforms: [.macOS(.v15)],
    // The traits are those of Examples/GenericKeys and Examples/Systems, so that one build serves
    // all three packages.
    dependencies: [.package(path: "../..", traits: ["TPM", "NSStringHashing"])],
    targets: [
        // The articles "Keep a token" (Keychain) and "Test code that uses the keychain"
        // (KeychainTesting).
        .executableTarget(
            name: "token", dependencies: [keychain] + modules, swiftSettings: settings),
        .testTarget(
            name: "tokenTests", dependencies: ["token", keychainTesting] + modules,
            swiftSettings: settings),

        // The article "Share code with iOS" (KeychainServices).
        .target(name: "PasswordStore", dependencies: modules, swiftSettings: settings),
        .executableTarget(
            name: "password", dependencies: ["PasswordStore"] + modules, swiftSettings: settings),

        // The article "Ask the user before showing a secret" (KeychainAuthentication).
        .executableTarget(name: "recovery", dependencies: modules, swiftSettings: settings),
        .testTarget(
            name: "recoveryTests", dependencies: ["recovery", keychainTesting] + modules,
            swiftSettings: settings),

        // The article "Sign with a key in hardware" (KeychainCryptoKit).
        .executableTarget(
            name: "signer", dependencies: [keychain] + modules, swiftSettings: settings),
        .testTarget(
            name: "signerTests", dependencies: ["signer", keychainTesting] + modules,
            swiftSettings: settings),

        // Compares the articles with these programs, and runs the articles' console sessions.
        .testTarget(
            name: "ArticleTests", dependencies: ["token", "password", "signer"] + modules,
            swiftSettings: settings),
    ]
)
