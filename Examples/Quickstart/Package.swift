// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Quickstart",
    platforms: [.macOS(.v15)],
    dependencies: [
        // The script `dev` builds swift-keychain with the same traits. The example shares that
        // build.
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
