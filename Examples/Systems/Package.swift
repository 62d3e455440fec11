// swift-tools-version: 6.2
import PackageDescription

/// For a package by URL this is the last part of the URL, "swift-keychain"; for one by path it is
/// the name of the folder, and a clone can have any.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

let keychain: Target.Dependency = .product(name: "Keychain", package: swiftKeychain)
let testing: Target.Dependency = .product(name: "KeychainTesting", package: swiftKeychain)

let package = Package(
    name: "Systems",
    platforms: [.macOS(.v15)],
    dependencies: [.package(path: "../..")],
    targets: [
        // S1: device keys of a capture app.
        .target(name: "Capture", dependencies: [keychain, testing]),
    ]
)
