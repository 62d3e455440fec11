// swift-tools-version: 6.2
import PackageDescription

/// SwiftPM looks an alias up by the package's identity. For a package by URL that is the last
/// part of the URL, "swift-keychain"; for one by path it is the name of the folder, and a clone
/// can have any.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// On Linux `import Security` and `import CryptoKit` mean these modules. On Apple platforms the
/// system's own are meant and this package isn't linked.
let security: Target.Dependency = .product(
    name: "KeychainServices", package: swiftKeychain,
    moduleAliases: ["KeychainServices": "Security"],
    condition: .when(platforms: [.linux]))
let cryptoKit: Target.Dependency = .product(
    name: "KeychainCryptoKit", package: swiftKeychain,
    moduleAliases: ["KeychainCryptoKit": "CryptoKit"],
    condition: .when(platforms: [.linux]))

/// A keychain in memory for the tests, which names the same module by the same alias.
let testing: Target.Dependency = .product(
    name: "KeychainTesting", package: swiftKeychain,
    moduleAliases: ["KeychainServices": "Security"],
    condition: .when(platforms: [.linux]))

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "Fundamentals",
    platforms: [.macOS(.v15)],
    // With the trait, `attributes[kSecAttrAccount]` works on an `[AnyHashable: Any]` on Linux too.
    dependencies: [.package(path: "../..", traits: ["NSStringHashing"])],
    targets: [
        .target(
            name: "SecItemFundamentals", dependencies: [security, cryptoKit],
            swiftSettings: settings),
        .executableTarget(
            name: "Fundamentals", dependencies: ["SecItemFundamentals", security, cryptoKit],
            swiftSettings: settings),
        .testTarget(
            name: "SecItemFundamentalsTests",
            dependencies: ["SecItemFundamentals", security, cryptoKit, testing],
            swiftSettings: settings),
    ]
)
