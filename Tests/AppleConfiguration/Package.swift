// swift-tools-version: 6.2
import PackageDescription

// The modules that are built on Apple's platforms, as they are built there, on Linux: `canImport(Darwin)`
// is true for them, and `import Security`, `import LocalAuthentication` and `import CryptoKit` mean the
// modules of this repository. Documentation/ApplePlatforms.md says what that shows and what it doesn't.

/// SwiftPM looks an alias up by the package's identity. For a package by path it is the name of the
/// folder, and a clone can have any.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

// As in Examples/GenericKeys, with the same traits, so that one build serves both.
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

/// The modules that are built twice, once for Linux under their own names, behind `Security`, and once
/// for Apple's platforms under these.
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

/// With these, and nowhere else, there is a module `Darwin`, and the sources' imports of some modules
/// mean those with other names.
func appleSettings(_ modules: [String]) -> [SwiftSetting] {
    settings + [
        .unsafeFlags(
            ["-Xcc", "-fmodule-map-file=\(Context.packageDirectory)/Darwin/module.modulemap"]
                + modules.flatMap { ["-module-alias", "\($0)=Apple\($0)"] })
    ]
}

/// A module with the sources that it has on every platform, by a symbolic link. Only the
/// modules that it stands on have their names changed: SwiftPM builds no other before it.
func apple(_ module: String, _ dependencies: [Target.Dependency] = []) -> Target {
    let names = dependencies.compactMap { dependency -> String? in
        guard case .byNameItem(let name, _) = dependency else { return nil }
        return String(name.dropFirst("Apple".count))
    }
    return .target(
        name: "Apple\(module)", dependencies: dependencies, path: "Sources/Apple\(module)",
        swiftSettings: appleSettings(names))
}

/// All of them, for the tests.
let appleModules = modules.map { Target.Dependency(stringLiteral: "Apple\($0)") }

let package = Package(
    name: "AppleConfiguration",
    dependencies: [
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
        // The system's keychain.
        .target(name: "StandIn", dependencies: [testing], swiftSettings: settings),
        // SwiftPM applies the alias of a product only if a program or a test names the product.
        .testTarget(
            name: "ReexportTests",
            dependencies: ["StandIn", security, localAuthentication, cryptoKit] + appleModules,
            swiftSettings: appleSettings(modules)),
        // The tests of `Keychain`, by a symbolic link, and what they need here.
        .testTarget(
            name: "AppleKeychainTests",
            dependencies: ["StandIn", crypto] + appleModules,
            swiftSettings: appleSettings(modules)),
    ]
)
