// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Quickstart",
    platforms: [.macOS(.v15)],
    dependencies: [
        // These are the traits that `dev` builds the package with, so that both share one build.
        .package(
            name: "swift-keychain", path: "../..",
            traits: ["OlderPKCS12", "TPM", "Synchronization"])
    ],
    targets: [
        .executableTarget(
            name: "Quickstart",
            dependencies: [.product(name: "Keychain", package: "swift-keychain")])
    ]
)
