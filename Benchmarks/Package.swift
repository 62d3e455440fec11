// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

// One executable, so that `swift run` needs no name.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-keychain", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
    ],
    targets: [
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                .product(name: "Keychain", package: "swift-keychain"),
                .product(name: "KeychainServices", package: "swift-keychain"),
                // For the floors: what the same work costs without a keychain.
                .product(name: "Crypto", package: "swift-crypto"),
                "CBenchmarkSQLite",
            ],
            swiftSettings: settings),
        .systemLibrary(
            name: "CBenchmarkSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    ]
)
