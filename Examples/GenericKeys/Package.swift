// swift-tools-version: 6.2
import PackageDescription

/// SwiftPM looks an alias up by the package's identity. For a package by URL that is the last
/// part of the URL, "swift-keychain"; for one by path it is the name of the folder, and a clone
/// can have any.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// On Linux `import Security`, `import LocalAuthentication` and `import CryptoKit` mean these
/// modules. On Apple platforms the system's own are meant and this package isn't linked.
let aliases = ["KeychainServices": "Security", "KeychainAuthentication": "LocalAuthentication"]
let security: Target.Dependency = .product(
    name: "KeychainServices", package: swiftKeychain, moduleAliases: aliases,
    condition: .when(platforms: [.linux]))
let localAuthentication: Target.Dependency = .product(
    name: "KeychainAuthentication", package: swiftKeychain,
    moduleAliases: ["KeychainAuthentication": "LocalAuthentication"],
    condition: .when(platforms: [.linux]))
let cryptoKit: Target.Dependency = .product(
    name: "KeychainCryptoKit", package: swiftKeychain,
    moduleAliases: ["KeychainCryptoKit": "CryptoKit"],
    condition: .when(platforms: [.linux]))

/// A keychain in memory for the tests, which names the same modules by the same aliases.
let testing: Target.Dependency = .product(
    name: "KeychainTesting", package: swiftKeychain, moduleAliases: aliases,
    condition: .when(platforms: [.linux]))

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let modules = [security, localAuthentication, cryptoKit]

let package = Package(
    name: "GenericKeys",
    platforms: [.macOS(.v15)],
    // No trait is needed here. These are those of the systems, so that one build serves both.
    dependencies: [.package(path: "../..", traits: ["TPM", "NSStringHashing"])],
    targets: [
        .target(name: "KeyStores", dependencies: modules, swiftSettings: settings),
        .executableTarget(
            name: "GenericKeys", dependencies: ["KeyStores"] + modules, swiftSettings: settings),
        .testTarget(
            name: "KeyStoresTests", dependencies: ["KeyStores", testing] + modules,
            swiftSettings: settings),
    ]
)
