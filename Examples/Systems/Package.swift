// swift-tools-version: 6.2
import PackageDescription

/// SwiftPM looks an alias up by the package's identity. For a package by URL that is the last
/// part of the URL, "swift-keychain"; for one by path it is the name of the folder, and a clone
/// can have any.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// What `import Security` and the others mean on Linux. On Apple platforms the system's own are
/// meant, and these products aren't linked.
let aliases = [
    "KeychainServices": "Security",
    "KeychainAuthentication": "LocalAuthentication",
    "KeychainCryptoKit": "CryptoKit",
]

/// Every product that knows one of these modules is named with the same aliases.
func product(_ name: String) -> Target.Dependency {
    .product(
        name: name, package: swiftKeychain, moduleAliases: aliases,
        condition: .when(platforms: [.linux]))
}

let security = product("KeychainServices")
let localAuthentication = product("KeychainAuthentication")
let cryptoKit = product("KeychainCryptoKit")
/// A keychain in memory, for the tests.
let keychainTesting = product("KeychainTesting")
let keychainctl: Target.Dependency = .product(name: "keychainctl", package: swiftKeychain)
/// The service, which one of the sessions goes through.
let keychaind: Target.Dependency = .product(name: "keychaind", package: swiftKeychain)
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// `./dev test` measures which lines of the libraries the tests run. `swift test
/// --enable-code-coverage` would compile everything below them once more.
let isMeasured = Context.environment["KEYCHAIN_COVERAGE"] != nil
let coverageSettings: [SwiftSetting] =
    isMeasured ? [.unsafeFlags(["-profile-generate", "-profile-coverage-mapping"])] : []
let coverageLinkerSettings: [LinkerSetting] =
    isMeasured ? [.unsafeFlags(["-profile-generate"])] : []

/// A library, program or test of one of the five systems, in the system's folder.
func target(
    _ name: String, of system: String, _ dependencies: [Target.Dependency] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "\(system)/Sources/\(name)",
        swiftSettings: settings + coverageSettings,
        linkerSettings: coverageLinkerSettings)
}

func program(
    _ name: String, of system: String, _ dependencies: [Target.Dependency] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "\(system)/Sources/\(name)",
        swiftSettings: settings)
}

func tests(_ name: String, of system: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["ExampleTesting", keychainTesting, keychainctl],
        path: "\(system)/Tests/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "Systems",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "capture", targets: ["capture-app"])
    ],
    dependencies: [
        // Keys of the Secure Enclave are made in a TPM where there is one; building with that takes
        // libtss2-dev. With NSStringHashing
        // `attributes[kSecAttrAccount]` works on an `[AnyHashable: Any]`, as on Apple platforms.
        .package(path: "../..", traits: ["TPM", "NSStringHashing"]),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.27.1"),
    ],
    targets: [
        // S1: device keys of a capture app.
        target("Capture", of: "Capture", [security, cryptoKit, logging]),
        program("capture-app", of: "Capture", ["Capture", security, cryptoKit, logging]),
        tests(
            "CaptureTests", of: "Capture",
            ["Capture", "capture-app", security, cryptoKit, localAuthentication, logging]),

        // S2: credentials of a television, shared by an app and its widget.
        target("TVRemote", of: "TVRemote", [security]),
        program("tv-app", of: "TVRemote", ["TVRemote", security]),
        program("tv-widget", of: "TVRemote", ["TVRemote", security]),
        program("tv-stranger", of: "TVRemote", ["TVRemote", security]),
        program("television", of: "TVRemote", ["StandIn"]),
        tests(
            "TVRemoteTests", of: "TVRemote",
            ["TVRemote", "tv-app", "tv-widget", "tv-stranger", "television", security]),

        // S3: the SecItem fundamentals.
        target("SecItemFundamentals", of: "Fundamentals", [security, cryptoKit]),
        program(
            "Fundamentals", of: "Fundamentals", ["SecItemFundamentals", security, cryptoKit]),
        tests(
            "SecItemFundamentalsTests", of: "Fundamentals",
            ["SecItemFundamentals", "Fundamentals", security, cryptoKit, keychaind]),

        // S4: device identity.
        target("DeviceIdentity", of: "DeviceIdentity", [security]),
        target("DeviceIdentityTesting", of: "DeviceIdentity", ["DeviceIdentity", security]),
        program("device-identity", of: "DeviceIdentity", ["DeviceIdentity", security]),
        program("backend", of: "DeviceIdentity", ["StandIn"]),
        tests(
            "DeviceIdentityTests", of: "DeviceIdentity",
            [
                "DeviceIdentity", "DeviceIdentityTesting", "device-identity", "backend", security,
            ]),

        // S5: sign-in.
        target("SignIn", of: "SignIn", [security, logging]),
        program("sign-in", of: "SignIn", ["SignIn", security, logging]),
        program("sign-in-service", of: "SignIn", ["StandIn"]),
        tests("SignInTests", of: "SignIn", ["SignIn", "sign-in", "sign-in-service", security]),

        // The storage layer of each, written with `Keychain`: what stands at the end of its README.
        .testTarget(
            name: "WithKeychainTests",
            dependencies: [
                "ExampleTesting", product("Keychain"), cryptoKit, keychainTesting,
            ],
            path: "Support/WithKeychainTests", swiftSettings: settings),

        // The limits that sources name, for `./dev bench`.
        .executableTarget(
            name: "systems-benchmarks", dependencies: ["Capture", "TVRemote", cryptoKit],
            path: "Support/Benchmarks", swiftSettings: settings),
        // Servers that stand in for the ones of the real world.
        .target(
            name: "StandIn", dependencies: [.product(name: "FlyingFox", package: "FlyingFox")],
            path: "Support/StandIn", swiftSettings: settings),
        // What tests of programs need: a home, and the sessions of a README.
        .target(
            name: "ExampleTesting", path: "Support/ExampleTesting", swiftSettings: settings),
    ]
)
