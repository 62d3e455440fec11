// swift-tools-version: 6.1
import PackageDescription

/// SwiftPM looks an alias up by the package's identity. For a package by URL that is the last
/// part of the URL, "swift-keychain"; for one by path it is the name of the folder, and a clone
/// can have any.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

let package = Package(
    name: "SecItemAlias",
    platforms: [.macOS(.v15)],
    dependencies: [.package(path: "../..")],
    targets: [
        .executableTarget(
            name: "SecItemAlias",
            dependencies: [
                // On Linux `import Security` means this module. On Apple platforms the system's
                // own is meant and this package isn't linked.
                .product(
                    name: "KeychainServices", package: swiftKeychain,
                    moduleAliases: ["KeychainServices": "Security"],
                    condition: .when(platforms: [.linux]))
            ])
    ],
    swiftLanguageModes: [.v5]
)
