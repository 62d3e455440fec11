// swift-tools-version: 6.2
import PackageDescription

/// The identity of the package, by which SwiftPM looks up module aliases. For a package with a URL,
/// it is the last component of the URL, "swift-keychain". For a package with a path, it is the name
/// of the folder, which can be any name in a clone.
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
/// Every target depends on all three, because SwiftPM 6.3 doesn't reliably apply aliases in a
/// package whose targets depend on some of the aliased products.
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
    // The traits are those of the other examples, so that all share one build.
    dependencies: [.package(path: "../..", traits: ["TPM", "NSStringHashing"])],
    targets: [
        // Keychain: Keep a token. KeychainTesting: Test code that uses the keychain.
        .executableTarget(
            name: "token", dependencies: [keychain] + modules, swiftSettings: settings),
        .testTarget(
            name: "tokenTests", dependencies: ["token", keychainTesting] + modules,
            swiftSettings: settings),

        // KeychainServices: Share code with iOS.
        .target(name: "PasswordStore", dependencies: modules, swiftSettings: settings),
        .executableTarget(
            name: "password", dependencies: ["PasswordStore"] + modules, swiftSettings: settings),

        // KeychainAuthentication: Ask the user before showing a secret.
        .executableTarget(name: "recovery", dependencies: modules, swiftSettings: settings),
        .testTarget(
            name: "recoveryTests", dependencies: ["recovery", keychainTesting] + modules,
            swiftSettings: settings),

        // KeychainCryptoKit: Sign with a key in hardware.
        .executableTarget(
            name: "signer", dependencies: [keychain] + modules, swiftSettings: settings),
        .testTarget(
            name: "signerTests", dependencies: ["signer", keychainTesting] + modules,
            swiftSettings: settings),

        // Compares the articles with these programs, and runs the articles' sessions.
        .testTarget(
            name: "ArticleTests", dependencies: ["token", "password", "signer"] + modules,
            swiftSettings: settings),
    ]
)
