// swift-tools-version: 6.2
import PackageDescription

/// The identity of the swift-keychain package, which SwiftPM needs to look up module aliases. For a
/// dependency with a URL, the identity is the last component of the URL, "swift-keychain". For a
/// dependency with a path, the identity is the name of the folder, which can be any name in a
/// clone.
let swiftKeychain =
    Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased()
    ?? "swift-keychain"

/// With these aliases, `import Security`, `import LocalAuthentication` and `import CryptoKit`
/// import swift-keychain's modules on Linux. On Apple platforms, these statements import the
/// system's modules, and swift-keychain isn't linked.
let aliases = [
    "KeychainServices": "Security",
    "KeychainAuthentication": "LocalAuthentication",
    "KeychainCryptoKit": "CryptoKit",
]

/// A product of swift-keychain, with the aliases. Every product that uses one of the modules needs
/// the same aliases.
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
/// The keychain service, which the tests of Fundamentals start.
let keychaind: Target.Dependency = .product(name: "keychaind", package: swiftKeychain)
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// Whether this build measures the tests' code coverage of the libraries, as `./dev test` requires.
/// `swift test --enable-code-coverage` would recompile all dependencies.
let isMeasured = Context.environment["KEYCHAIN_COVERAGE"] != nil
let coverageSettings: [SwiftSetting] =
    isMeasured ? [.unsafeFlags(["-profile-generate", "-profile-coverage-mapping"])] : []
let coverageLinkerSettings: [LinkerSetting] =
    isMeasured ? [.unsafeFlags(["-profile-generate"])] : []

/// A library of one of the five systems, in the system's folder.
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
        // With `TPM`, Secure Enclave keys are created in a TPM if there is one. This trait requires
        // libtss2-dev. With `NSStringHashing`, `attributes[kSecAttrAccount]` works on an
        // `[AnyHashable: Any]`, as on Apple platforms.
        .package(path: "../..", traits: ["TPM", "NSStringHashing"]),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.27.1"),
    ],
    targets: [
        // S1: the keys of a capture app.
        target("Capture", of: "Capture", [security, cryptoKit, logging]),
        program("capture-app", of: "Capture", ["Capture", security, cryptoKit, logging]),
        tests(
            "CaptureTests", of: "Capture",
            ["Capture", "capture-app", security, cryptoKit, localAuthentication, logging]),

        // S2: the credentials of a television, shared by an app and its widget.
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

        // Each system's storage layer, written with `Keychain`, and its tests. Each README shows
        // this storage layer at the end.
        .testTarget(
            name: "WithKeychainTests",
            dependencies: [
                "ExampleTesting", product("Keychain"), cryptoKit, keychainTesting,
            ],
            path: "Support/WithKeychainTests", swiftSettings: settings),

        // Benchmarks for the time limits in the specifications. `./dev bench` runs them.
        .executableTarget(
            name: "systems-benchmarks", dependencies: ["Capture", "TVRemote", cryptoKit],
            path: "Support/Benchmarks", swiftSettings: settings),
        // The library of the programs that stand in for the real servers of the systems.
        .target(
            name: "StandIn", dependencies: [.product(name: "FlyingFox", package: "FlyingFox")],
            path: "Support/StandIn", swiftSettings: settings),
        // Support for tests of programs: a temporary home directory, and the sessions of a README.
        .target(
            name: "ExampleTesting", path: "Support/ExampleTesting", swiftSettings: settings),
    ]
)
