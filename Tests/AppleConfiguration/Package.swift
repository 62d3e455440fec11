// swift-tools-version: 6.2
import PackageDescription

// Builds the modules for Apple's platforms on Linux, in the same way as on Apple's platforms: for
// these modules, `canImport(Darwin)` is true, and `import Security`, `import LocalAuthentication`
// and `import CryptoKit` mean modules of this repository.
// Documentation/ApplePlatforms.md says what this package tests and what it doesn't.

/// The identity of this repository's package, by which SwiftPM finds a product that gets an alias.
/// For a package at a path, the identity is the folder's name, which can differ between clones.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

// The aliases are those of Examples/GenericKeys, so that one build serves both packages.
let aliases = ["KeychainServices": "Security", "KeychainAuthentication": "LocalAuthentication"]
let security: Target.Dependency = .product(
    name: "KeychainServices", package: swiftKeychain, moduleAliases: aliases)
let localAuthentication: Target.Dependency = .product(
    name: "KeychainAuthentication", package: swiftKeychain,
    moduleAliases: ["KeychainAuthentication": "LocalAuthentication"])
let cryptoKit: Target.Dependency = .product(
    name: "KeychainCryptoKit", package: swiftKeychain,
    moduleAliases: ["KeychainCryptoKit": "CryptoKit"])
let testing: Target.Dependency = .product(
    name: "KeychainTesting", package: swiftKeychain, moduleAliases: aliases)
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")

/// The modules that are built twice: once for Linux, and once in the configuration of Apple's
/// platforms. In the second build, the modules' names have the prefix `Apple`.
let modules = [
    "KeychainCore", "KeychainServicesDarwin", "KeychainAuthenticationDarwin", "KeychainServices",
    "KeychainAuthentication", "KeychainCryptoKit", "KeychainSecItem", "Keychain", "KeychainTesting",
    "KeychainServicesAliasShim", "KeychainAuthenticationAliasShim", "KeychainCryptoKitAliasShim",
]

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// With these settings, and only with them, a module `Darwin` exists, and some imports in the
/// sources mean modules with other names.
func appleSettings(_ modules: [String]) -> [SwiftSetting] {
    settings + [
        .unsafeFlags(
            ["-Xcc", "-fmodule-map-file=\(Context.packageDirectory)/Darwin/module.modulemap"]
                + modules.flatMap { ["-module-alias", "\($0)=Apple\($0)"] })
    ]
}

/// A module built in the configuration of Apple's platforms. Its folder is a symbolic link to the
/// module's sources. An import of one of its dependencies means the module with the prefix `Apple`.
/// An import of another module keeps its meaning, because SwiftPM may not have built the module
/// with the prefix yet.
func apple(_ module: String, _ dependencies: [Target.Dependency] = []) -> Target {
    let names = dependencies.compactMap { dependency -> String? in
        guard case .byNameItem(let name, _) = dependency else { return nil }
        return String(name.dropFirst("Apple".count))
    }
    return .target(
        name: "Apple\(module)", dependencies: dependencies, path: "Sources/Apple\(module)",
        swiftSettings: appleSettings(names))
}

/// All modules with the prefix `Apple`, as dependencies of the tests.
let appleModules = modules.map { Target.Dependency(stringLiteral: "Apple\($0)") }

let package = Package(
    name: "AppleConfiguration",
    dependencies: [
        // The traits are those of Examples/GenericKeys, so that one build serves both packages.
        .package(path: "../..", traits: ["TPM", "NSStringHashing"]),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
    ],
    targets: [
        apple("KeychainCore"),
        apple("KeychainServicesDarwin", [security, cryptoKit]),
        apple("KeychainAuthenticationDarwin", [localAuthentication]),
        apple("KeychainServices", ["AppleKeychainServicesDarwin"]),
        apple("KeychainAuthentication", ["AppleKeychainAuthenticationDarwin"]),
        apple("KeychainCryptoKit", [crypto]),
        apple(
            "KeychainSecItem",
            [
                "AppleKeychainServicesDarwin", "AppleKeychainAuthentication", "AppleKeychainCore",
                crypto,
            ]),
        apple(
            "Keychain",
            [
                "AppleKeychainSecItem", "AppleKeychainAuthentication", "AppleKeychainCore", crypto,
            ]),
        apple("KeychainTesting"),
        apple("KeychainServicesAliasShim", ["AppleKeychainServices"]),
        apple("KeychainAuthenticationAliasShim", ["AppleKeychainAuthentication"]),
        apple("KeychainCryptoKitAliasShim", ["AppleKeychainCryptoKit"]),
        // A stand-in for the system's keychain.
        .target(name: "StandIn", dependencies: [testing], swiftSettings: settings),
        // SwiftPM applies the alias of a product only if a program or a test names the product.
        .testTarget(
            name: "ReexportTests",
            dependencies: ["StandIn", security, localAuthentication, cryptoKit] + appleModules,
            swiftSettings: appleSettings(modules)),
        // The tests of `Keychain`, through a symbolic link, with their support code and further
        // tests for Apple's platforms.
        .testTarget(
            name: "AppleKeychainTests",
            dependencies: ["StandIn", crypto] + appleModules,
            swiftSettings: appleSettings(modules)),
    ]
)
