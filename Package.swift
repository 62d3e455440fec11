// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target that contains code. The tools version sets language mode 6.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// The platforms whose system has a keychain.
let applePlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]
/// The platforms on which this package provides the keychain.
let otherPlatforms: [Platform] = [.linux, .android]

/// Dependencies that a target has only on the platforms where this package provides the keychain.
func elsewhere(_ names: [String]) -> [Target.Dependency] {
    names.map { .target(name: $0, condition: .when(platforms: otherPlatforms)) }
}

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let x509: Target.Dependency = .product(
    name: "X509", package: "swift-certificates", condition: .when(platforms: otherPlatforms))
let asn1: Target.Dependency = .product(
    name: "SwiftASN1", package: "swift-asn1", condition: .when(platforms: otherPlatforms))
let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
]
let lifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(
    name: "UnixSignals", package: "swift-service-lifecycle")
let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "swift-keychain",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Keychain", targets: ["Keychain"]),
        .library(
            name: "KeychainServices", targets: ["KeychainServices", "KeychainServicesAliasShim"]),
        .library(
            name: "KeychainAuthentication",
            targets: ["KeychainAuthentication", "KeychainAuthenticationAliasShim"]),
        .library(name: "KeychainTesting", targets: ["KeychainTesting"]),
        .library(
            name: "KeychainCryptoKit", targets: ["KeychainCryptoKit", "KeychainCryptoKitAliasShim"]),
        .executable(name: "keychainctl", targets: ["keychainctl"]),
        .executable(name: "keychaind", targets: ["keychaind"]),
    ],
    traits: [
        .default(enabledTraits: []),
        .trait(
            name: "OlderPKCS12",
            description:
                "Reads keys and certificates that older programs encrypted with RC2, triple DES or "
                + "RC4. It builds swift-nio-ssl, which has these ciphers and takes a while."),
        .trait(
            name: "TPM",
            description:
                "Secure Enclave keys, and sealed device keys, in a TPM 2.0. It needs tpm2-tss: "
                + "libtss2-dev on Debian."),
        .trait(
            name: "Synchronization",
            description:
                "Synchronizes items between machines through etcd. It builds async-http-client."),
        .trait(
            name: "NSStringHashing",
            description:
                "On Linux, an NSString in an AnyHashable equals the String of its text, as on "
                + "Apple's systems. This holds for the whole process."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(
            url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    ],
    targets: [
        // Requests, their answers, and the encoding of both in messages.
        .target(name: "KeychainCore", swiftSettings: settings),
        // Keys, sealing, labels, secret memory.
        .target(
            name: "KeychainCrypto", dependencies: ["KeychainCore", crypto, cryptoExtras],
            swiftSettings: settings),
        // Tables, transactions, tags of pages, reading damaged files.
        .systemLibrary(
            name: "CKeychainSQLite", path: "Sources/CKeychainSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .target(
            name: "KeychainSQLite",
            dependencies: ["KeychainCore", "KeychainCrypto", "CKeychainSQLite"],
            swiftSettings: settings),
        // Carries out requests: rights, matching, keys, and the administration of a keychain.
        .target(
            name: "KeychainEngine",
            dependencies: ["KeychainCore", "KeychainCrypto", "KeychainSQLite", logging],
            swiftSettings: settings),
        // Keys in a TPM 2.0.
        .systemLibrary(
            name: "CKeychainTSS2", path: "Sources/CKeychainTSS2", providers: [.apt(["libtss2-dev"])]
        ),
        .target(
            name: "KeychainTPM",
            dependencies: [
                "KeychainCore", "KeychainCrypto",
                .target(name: "CKeychainTSS2", condition: .when(traits: ["TPM"])),
            ],
            swiftSettings: settings),
        // Synchronization of items: the members of a circle, the messages, and which of a server's
        // answers are accepted.
        .target(
            name: "KeychainSynchronization",
            dependencies: ["KeychainCore", "KeychainCrypto", "KeychainSQLite", crypto],
            swiftSettings: settings),
        // One machine of a circle: the exchange between its keychain and a relay.
        .target(
            name: "KeychainSynchronizer",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainEngine",
                "KeychainSynchronization",
            ],
            swiftSettings: settings),
        // A client of etcd, the server through which the machines of a circle exchange records.
        .target(
            name: "KeychainEtcd",
            dependencies: [
                .product(
                    name: "AsyncHTTPClient", package: "async-http-client",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOCore", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOPosix", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOHTTP1", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOSSL", package: "swift-nio-ssl",
                    condition: .when(traits: ["Synchronization"])),
            ],
            swiftSettings: settings),
        // The relay, which carries records between a keychain and a server.
        .target(
            name: "KeychainRelay",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainSynchronization", "KeychainEtcd",
            ],
            swiftSettings: settings),
        // The protocol between client and service.
        .target(
            name: "KeychainWire", dependencies: ["KeychainCore"], swiftSettings: settings),
        // Chooses the keychain of a process: the service's, or one that the process opens itself.
        .target(
            name: "KeychainRuntime",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainEngine", "KeychainWire", "KeychainTPM",
                .target(
                    name: "KeychainSynchronizer", condition: .when(traits: ["Synchronization"])),
            ],
            swiftSettings: settings),
        // The service: the identification and the rights of its clients, connections, logs.
        .target(
            name: "KeychainDaemon",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainEngine", "KeychainWire",
                "KeychainRuntime", "KeychainTPM", lifecycle, unixSignals, logging,
                argumentParser,
            ] + nio,
            swiftSettings: settings),
        .executableTarget(
            name: "keychaind", dependencies: ["KeychainDaemon"], swiftSettings: settings),
        // Authentication of the user: contexts, and prompts at the terminal or through pinentry.
        .target(name: "KeychainAuthenticationDarwin", swiftSettings: settings),
        .target(
            name: "KeychainAuthentication",
            dependencies: [
                .target(
                    name: "KeychainAuthenticationDarwin",
                    condition: .when(platforms: applePlatforms))
            ]
                + elsewhere(["KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainEngine"]),
            swiftSettings: settings),
        .target(name: "KeychainAuthenticationAliasShim", dependencies: ["KeychainAuthentication"]),
        // RSA and elliptic-curve keys, PKCS #8 and PKCS #12.
        .target(
            name: "KeychainAsymmetricKeys",
            dependencies: [
                "KeychainCore", "KeychainCrypto", crypto, cryptoExtras, asn1,
                .product(
                    name: "NIOSSL", package: "swift-nio-ssl",
                    condition: .when(traits: ["OlderPKCS12"])),
            ],
            swiftSettings: settings),
        // The interface of Apple's Security framework, with Apple's names and behavior.
        .target(
            name: "KeychainServicesDarwin", swiftSettings: settings),
        .target(
            name: "KeychainServices",
            dependencies: [
                .target(
                    name: "KeychainServicesDarwin", condition: .when(platforms: applePlatforms)),
                x509, asn1,
            ]
                + elsewhere([
                    "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainEngine",
                    "KeychainAuthentication", "KeychainAsymmetricKeys",
                ]),
            swiftSettings: settings),
        .target(name: "KeychainServicesAliasShim", dependencies: ["KeychainServices"]),
        // The interface of Apple's CryptoKit. A module alias can give it the name CryptoKit.
        .target(
            name: "KeychainCryptoKit",
            dependencies: [crypto]
                + elsewhere([
                    "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainAuthentication",
                    "KeychainServices",
                ]),
            swiftSettings: settings),
        .target(name: "KeychainCryptoKitAliasShim", dependencies: ["KeychainCryptoKit"]),
        // Carries out requests of the Swift API through the SecItem functions: the system's on
        // Apple's platforms, and those of KeychainServices in tests on other platforms.
        .target(
            name: "KeychainSecItem",
            dependencies: [
                .target(
                    name: "KeychainServicesDarwin", condition: .when(platforms: applePlatforms)),
                "KeychainCore", "KeychainAuthentication", crypto,
            ] + elsewhere(["KeychainServices", "KeychainRuntime"]),
            swiftSettings: settings),
        // The Swift API.
        .target(
            name: "Keychain",
            dependencies: [
                .target(name: "KeychainSecItem", condition: .when(platforms: applePlatforms)),
                "KeychainCore", "KeychainAuthentication", crypto,
            ] + elsewhere(["KeychainCrypto", "KeychainRuntime", "KeychainEngine"]),
            swiftSettings: settings),
        // A keychain in memory, for the tests of programs that use this package.
        .target(
            name: "KeychainTesting",
            dependencies: elsewhere([
                "KeychainCore", "KeychainCrypto", "KeychainAsymmetricKeys", "KeychainSQLite",
                "KeychainRuntime", "KeychainEngine", "KeychainAuthentication", "KeychainServices",
                "KeychainSecItem", "Keychain",
            ]),
            swiftSettings: settings),
        // The command-line tool.
        .target(
            name: "KeychainTool",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainRuntime",
                "KeychainEngine",
                "KeychainTPM", argumentParser, logging,
                .target(
                    name: "KeychainSynchronization", condition: .when(traits: ["Synchronization"])),
                .target(name: "KeychainRelay", condition: .when(traits: ["Synchronization"])),
                .target(name: "KeychainEtcd", condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "UnixSignals", package: "swift-service-lifecycle",
                    condition: .when(traits: ["Synchronization"])),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "keychainctl", dependencies: ["KeychainTool"], swiftSettings: settings),
        // Test vectors of the file formats: the library for their files, and their generator.
        .target(
            name: "FormatVectors",
            dependencies: ["KeychainCore", "KeychainCrypto", "KeychainSQLite"],
            path: "Tests/FormatVectors", swiftSettings: settings),
        .executableTarget(
            name: "format-vectors",
            dependencies: [
                "FormatVectors", "KeychainCore", "KeychainCrypto", "KeychainAsymmetricKeys",
                "KeychainSQLite", "KeychainEngine", "KeychainSynchronization",
            ],
            path: "Tests/FormatVectorGenerator", swiftSettings: settings),
        .testTarget(
            name: "KeychainCryptoTests",
            dependencies: ["FormatVectors", "KeychainCore", "KeychainCrypto", crypto],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainSynchronizationTests",
            dependencies: [
                "FormatVectors", "KeychainSynchronization", "KeychainCore", "KeychainCrypto",
                "KeychainSQLite", "TestPrograms", crypto,
            ],
            swiftSettings: settings),
        // Machines of a circle, and a server in memory, for tests.
        .target(
            name: "SynchronizationTestSupport",
            dependencies: [
                "KeychainSynchronizer", "KeychainSynchronization", "KeychainRelay",
                "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainEngine",
            ],
            path: "Tests/SynchronizationTestSupport", swiftSettings: settings),
        .testTarget(
            name: "KeychainSynchronizerTests",
            dependencies: [
                "SynchronizationTestSupport", "KeychainSynchronizer", "KeychainSynchronization",
                "KeychainRelay", "KeychainCore", "KeychainCrypto", "KeychainSQLite",
                "KeychainEngine", "KeychainTesting", "TestPrograms",
            ],
            swiftSettings: settings),
        // Clusters of etcd for tests, their certificates, and the links to their nodes.
        .target(
            name: "EtcdTestSupport",
            dependencies: [
                "KeychainEtcd",
                .product(
                    name: "NIOCore", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOPosix", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
            ],
            path: "Tests/EtcdTestSupport", swiftSettings: settings),
        // Measures the speed of synchronization and, for comparison, that of etcd itself.
        .executableTarget(
            name: "circle-figures",
            dependencies: [
                "KeychainEtcd", "EtcdTestSupport", "SynchronizationTestSupport", "KeychainRelay",
                "KeychainSynchronization", "KeychainSynchronizer", "KeychainCore", "KeychainEngine",
            ],
            path: "Tests/CircleFigures", swiftSettings: settings),
        .testTarget(
            name: "KeychainEtcdTests",
            dependencies: [
                "KeychainEtcd", "EtcdTestSupport", "SynchronizationTestSupport", "TestPrograms",
                "keychainctl", "keychaind", "KeychainRelay",
                "KeychainSynchronization", "KeychainCore", "KeychainCrypto", "KeychainEngine",
                .product(
                    name: "NIOCore", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOPosix", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOHTTP1", package: "swift-nio",
                    condition: .when(traits: ["Synchronization"])),
                .product(
                    name: "NIOSSL", package: "swift-nio-ssl",
                    condition: .when(traits: ["Synchronization"])),
            ],
            exclude: ["at_terminal.py", "two_shells.py"], swiftSettings: settings),
        .testTarget(
            name: "KeychainWireTests",
            dependencies: ["TestPrograms", "KeychainWire", "KeychainCore"],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainRuntimeTests",
            dependencies: [
                "KeychainRuntime", "KeychainWire", "KeychainCore", "KeychainCrypto",
                "KeychainEngine",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainServicesTests",
            dependencies: [
                "KeychainServices", "KeychainCore", "KeychainCrypto", "KeychainAsymmetricKeys",
                "KeychainSQLite", "KeychainRuntime", "KeychainEngine", "KeychainDaemon",
                "KeychainAuthentication", "KeychainTesting", logging, x509, asn1, crypto,
                cryptoExtras,
            ],
            exclude: ["Vectors"],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainAuthenticationTests",
            dependencies: [
                "KeychainAuthentication", "KeychainCore", "KeychainCrypto", "KeychainEngine",
                "KeychainServices", "KeychainTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainSQLiteTests",
            dependencies: [
                "FormatVectors", "TestPrograms", "KeychainCore", "KeychainCrypto",
                "KeychainSQLite", "CKeychainSQLite",
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainEngineTests",
            dependencies: [
                "TestPrograms", "KeychainCore", "KeychainCrypto", "KeychainAsymmetricKeys",
                "KeychainSQLite", "KeychainEngine", "KeychainTesting", logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainCryptoKitTests",
            dependencies: [
                "KeychainCryptoKit", "KeychainAuthentication", "KeychainServices",
                "KeychainTesting",
            ],
            swiftSettings: settings),
        // One of many processes that race for one identifier.
        .executableTarget(
            name: "identity-racer", dependencies: ["Keychain"], path: "Tests/IdentityRacer",
            swiftSettings: settings),
        .testTarget(
            name: "KeychainTests",
            dependencies: [
                "Keychain", "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainEngine",
                "KeychainServices", "KeychainSecItem", "KeychainTesting", "TestPrograms",
                "fault-writer", "identity-racer",
                crypto,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainTestingTests",
            dependencies: [
                "KeychainTesting", "Keychain", "KeychainCore", "KeychainEngine",
                "KeychainServices", crypto,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "KeychainToolTests",
            dependencies: [
                "KeychainTool", "KeychainCore", "KeychainEngine", "keychainctl", "keychaind",
                argumentParser,
            ],
            exclude: ["Transcripts"],
            swiftSettings: settings),
        // Tests with a software TPM (swtpm), if the trait TPM is on.
        .testTarget(
            name: "KeychainTPMTests",
            dependencies: [
                "TestPrograms",
                "KeychainTPM", "KeychainCore", "KeychainCrypto", "KeychainEngine",
                "KeychainRuntime", "KeychainServices", "SynchronizationTestSupport", crypto,
            ],
            swiftSettings: settings),
        // The repository's own rules.
        .testTarget(name: "RepositoryTests", swiftSettings: settings),
        // A client of the service, honest or not, which tests run as a separate process.
        .executableTarget(
            name: "service-peer",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainEngine", "KeychainRuntime",
                "KeychainWire",
            ],
            path: "Tests/ServicePeer", swiftSettings: settings),
        .testTarget(
            name: "KeychainDaemonTests",
            dependencies: [
                "KeychainDaemon", "KeychainCore", "KeychainCrypto", "KeychainEngine",
                "KeychainWire", "KeychainRuntime", "TestPrograms", "FaultSweeps", "keychaind",
                "service-peer", logging, argumentParser,
            ],
            swiftSettings: settings),
        // Code that several modules' tests share: processes, test doubles, changed database pages.
        .target(
            name: "TestPrograms",
            dependencies: ["KeychainCore", "KeychainCrypto", "KeychainSQLite"],
            path: "Tests/TestPrograms", swiftSettings: settings),
        // Fault tests run this program in many processes, kill it, and deprive it of disk space.
        .executableTarget(
            name: "fault-writer",
            dependencies: [
                "FaultSweeps", "TestPrograms", "KeychainCore", "KeychainSQLite", "KeychainEngine",
            ],
            path: "Tests/FaultWriter", swiftSettings: settings),
        // Interruptions and damage at every point, and checks of the keychain's response.
        .target(
            name: "FaultSweeps",
            dependencies: [
                "TestPrograms", "KeychainCore", "KeychainCrypto", "KeychainSQLite",
                "KeychainEngine", logging,
            ],
            path: "Tests/FaultSweeps", swiftSettings: settings),
        // Runs the long sweeps of FaultSweeps.
        .executableTarget(
            name: "soak",
            dependencies: ["FaultSweeps", "TestPrograms", "fault-writer"],
            path: "Tests/Soak", swiftSettings: settings),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainRuntime",
                "KeychainEngine",
                "KeychainServices", "TestPrograms", "FaultSweeps", "fault-writer",
                "CKeychainSQLite",
            ], swiftSettings: settings),
    ]
)
