// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "SecItemAlias",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-keychain", path: "../..")],
    targets: [
        .executableTarget(
            name: "SecItemAlias",
            dependencies: [
                // On Linux `import Security` means this module. On Apple platforms the system's
                // own is meant and this package isn't linked.
                .product(
                    name: "KeychainServices", package: "swift-keychain",
                    moduleAliases: ["KeychainServices": "Security"],
                    condition: .when(platforms: [.linux]))
            ])
    ],
    swiftLanguageModes: [.v5]
)
