// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "Server",
    platforms: [.macOS(.v15)],
    dependencies: [
        // The script `dev` builds swift-keychain with the same traits. The example shares that
        // build.
        .package(
            name: "swift-keychain", path: "../..",
            traits: ["OlderPKCS12", "TPM", "Synchronization"])
    ],
    targets: [
        .target(
            name: "Shop",
            dependencies: [.product(name: "Keychain", package: "swift-keychain")],
            swiftSettings: settings),
        .executableTarget(name: "shop-server", dependencies: ["Shop"], swiftSettings: settings),
        .testTarget(
            name: "ShopTests",
            dependencies: [
                "Shop", .product(name: "KeychainTesting", package: "swift-keychain"),
            ],
            swiftSettings: settings),
    ]
)
