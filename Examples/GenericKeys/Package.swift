// swift-tools-version: 6.2
import PackageDescription

/// The identity of the package, by which SwiftPM looks up module aliases. For a package with a URL,
/// it is the last component of the URL, "swift-keychain". For a package with a path, it is the name
/// of the folder, which can be any name in a clone.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// On Linux, `import Security`, `import LocalAuthentication` and `import CryptoKit` import these
/// modules. On Apple platforms, they import the system's modules, and this package isn't linked.
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

/// A keychain in memory for the tests. It uses the same modules, so it needs the same aliases.
let testing: Target.Dependency = .product(
    name: "KeychainTesting", package: swiftKeychain, moduleAliases: aliases,
    condition: .when(platforms: [.linux]))

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let modules = [security, localAuthentication, cryptoKit]

let package = Package(
    name: "GenericKeys",
    platforms: [.macOS(.v15)],
    // This package needs no traits. They are those of Examples/Systems and Examples/Tutorials, so
    // that the three packages share one build.
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
