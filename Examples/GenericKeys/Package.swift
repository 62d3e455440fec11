// swift-tools-version: 6.2
import PackageDescription

/// The identity of the swift-keychain package, which SwiftPM needs to look up module aliases. For a
/// dependency with a URL, the identity is the last component of the URL, "swift-keychain". For a
/// dependency with a path, the identity is the name of the folder, which can be any name in a
/// clone.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// With these aliases, `import Security` and `import LocalAuthentication` import swift-keychain's
/// modules on Linux. On Apple platforms, these statements import the system's modules, and
/// swift-keychain isn't linked.
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

/// A keychain in memory for the tests. `KeychainTesting` uses both modules, so it needs both
/// aliases.
let testing: Target.Dependency = .product(
    name: "KeychainTesting", package: swiftKeychain, moduleAliases: aliases,
    condition: .when(platforms: [.linux]))

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let modules = [security, localAuthentication, cryptoKit]

let package = Package(
    name: "GenericKeys",
    platforms: [.macOS(.v15)],
    // This package needs no traits. It enables the traits of Examples/Systems and
    // Examples/Tutorials, because packages with the same traits can share one build.
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
