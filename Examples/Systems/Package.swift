// swift-tools-version: 6.2
import PackageDescription

/// For a package by URL this is the last part of the URL, "swift-keychain"; for one by path it is
/// the name of the folder, and a clone can have any.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

let keychain: Target.Dependency = .product(name: "Keychain", package: swiftKeychain)
let cryptoKit: Target.Dependency = .product(name: "KeychainCryptoKit", package: swiftKeychain)
let services: Target.Dependency = .product(name: "KeychainServices", package: swiftKeychain)
let testing: Target.Dependency = .product(name: "KeychainTesting", package: swiftKeychain)
let keychainctl: Target.Dependency = .product(name: "keychainctl", package: swiftKeychain)
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "Systems",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "capture", targets: ["CaptureCommand"])
    ],
    dependencies: [
        // Without the default trait: nothing here reads PKCS #12. Device keys are made in a TPM where
        // there is one; building with that takes libtss2-dev.
        .package(path: "../..", traits: ["TPM"]),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    ],
    targets: [
        // What all tests of programs need: a home, and the sessions of README.md.
        .target(
            name: "ExampleTesting", dependencies: [keychain, testing],
            path: "Tests/ExampleTesting", swiftSettings: settings),

        // S1: device keys of a capture app.
        .target(
            name: "Capture", dependencies: [keychain, cryptoKit, logging],
            swiftSettings: settings),
        .executableTarget(
            name: "CaptureCommand", dependencies: ["Capture", keychain, logging],
            swiftSettings: settings),
        .testTarget(
            name: "CaptureTests",
            dependencies: [
                "Capture", "CaptureCommand", "ExampleTesting", keychain, cryptoKit, services,
                testing, keychainctl, logging,
            ],
            swiftSettings: settings),

        // S2: credentials of a television, shared by an app and its widget.
        .target(name: "TVRemote", dependencies: [keychain], swiftSettings: settings),
        .executableTarget(
            name: "tv-app", dependencies: ["TVRemote", keychain], swiftSettings: settings),
        .executableTarget(
            name: "tv-widget", dependencies: ["TVRemote", keychain], swiftSettings: settings),
        .executableTarget(
            name: "tv-stranger", dependencies: ["TVRemote", keychain], swiftSettings: settings),
        .testTarget(
            name: "TVRemoteTests",
            dependencies: [
                "TVRemote", "tv-app", "tv-widget", "tv-stranger", "ExampleTesting", keychain,
                services, testing,
            ],
            swiftSettings: settings),

        // S4: device identity.
        .target(name: "DeviceKeychain", dependencies: [keychain], swiftSettings: settings),
        .executableTarget(
            name: "device-identity", dependencies: ["DeviceKeychain", keychain],
            swiftSettings: settings),
        .target(
            name: "DeviceKeychainTesting", dependencies: ["DeviceKeychain", keychain, testing],
            swiftSettings: settings),
        .testTarget(
            name: "DeviceKeychainTests",
            dependencies: [
                "DeviceKeychain", "DeviceKeychainTesting", "ExampleTesting", "device-identity",
                keychain, testing,
            ],
            swiftSettings: settings),

        // S5: sign-in.
        .target(name: "SignIn", dependencies: [services], swiftSettings: settings),
        .executableTarget(name: "sign-in", dependencies: ["SignIn"], swiftSettings: settings),
        .testTarget(
            name: "SignInTests",
            dependencies: ["SignIn", "ExampleTesting", "sign-in", keychain, services, testing],
            swiftSettings: settings),
    ]
)
