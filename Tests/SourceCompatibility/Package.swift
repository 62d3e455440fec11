// swift-tools-version: 6.2
import PackageDescription

/// The identity of the swift-keychain package, which SwiftPM needs to look up module aliases. The
/// identity of a package at a path is the name of its folder, which can be different in each clone.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// On Linux `import Security` and `import LocalAuthentication` mean these modules.
let security: Target.Dependency = .product(
    name: "KeychainServices", package: swiftKeychain,
    moduleAliases: [
        "KeychainServices": "Security", "KeychainAuthentication": "LocalAuthentication",
    ],
    condition: .when(platforms: [.linux]))
let localAuthentication: Target.Dependency = .product(
    name: "KeychainAuthentication", package: swiftKeychain,
    moduleAliases: ["KeychainAuthentication": "LocalAuthentication"],
    condition: .when(platforms: [.linux]))

// Warnings are errors, because a type that differs from Apple's may cause only a warning.
let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "SourceCompatibility",
    platforms: [.macOS(.v15)],
    // The trait OlderPKCS12 is off, because WithoutTraitsTests tests a build without this trait.
    // The enabled traits are those of Examples/Systems, so that one build serves both packages.
    dependencies: [.package(path: "../..", traits: ["TPM", "NSStringHashing"])],
    targets: [
        .executableTarget(
            name: "SymbolsInSwift6", dependencies: [security, localAuthentication],
            path: "Sources/Symbols", swiftSettings: settings + [.swiftLanguageMode(.v6)]),
        // `Sources/SymbolsInSwift5` is a symbolic link to `Sources/Symbols`, because SwiftPM allows
        // a path in only one target.
        .executableTarget(
            name: "SymbolsInSwift5", dependencies: [security, localAuthentication],
            path: "Sources/SymbolsInSwift5", swiftSettings: settings + [.swiftLanguageMode(.v5)]),
        .testTarget(name: "SymbolListTests", swiftSettings: settings),
        .testTarget(
            name: "WithoutTraitsTests", dependencies: [security], swiftSettings: settings),
    ]
)
