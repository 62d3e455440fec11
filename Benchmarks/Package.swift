// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

// There is a single executable, so that `swift run` needs no name.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-keychain", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
    ],
    targets: [
        // Evaluation of figures: limits, noise, tables and plots. It has no dependencies that have
        // to be built, so its tests take seconds.
        .target(name: "BenchmarkFigures", swiftSettings: settings),
        .testTarget(
            name: "BenchmarkFiguresTests", dependencies: ["BenchmarkFigures"],
            swiftSettings: settings),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                .product(name: "Keychain", package: "swift-keychain"),
                .product(name: "KeychainServices", package: "swift-keychain"),
                // For the floors, which measure the cost of the same work without a keychain.
                .product(name: "Crypto", package: "swift-crypto"),
                "BenchmarkFigures", "CBenchmarkSQLite",
            ],
            swiftSettings: settings),
        .systemLibrary(
            name: "CBenchmarkSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    ]
)
