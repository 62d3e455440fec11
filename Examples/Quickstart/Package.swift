// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Quickstart",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-keychain", path: "../..")],
    targets: [
        .executableTarget(
            name: "Quickstart",
            dependencies: [.product(name: "Keychain", package: "swift-keychain")])
    ]
)
