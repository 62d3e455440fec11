// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target: language mode 6 comes with the tools version.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Where the system has a keychain of its own, and where this package brings one.
let applePlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]
let otherPlatforms: [Platform] = [.linux, .android]

/// Modules that a target stands on where this package brings the keychain.
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
                "Keys and certificates under RC2, triple DES or RC4, as older programs wrote them. "
                + "swift-nio-ssl has these ciphers; its build takes a while."),
        .trait(
            name: "TPM",
            description:
                "Keys in a TPM 2.0, the Secure Enclave of other machines. It is built with "
                + "tpm2-tss: libtss2-dev on Debian."),
        .trait(
            name: "Synchronization",
            description:
                "Items between machines, through etcd. async-http-client is built for it."),
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
        // What a request and its answer are.
        .target(name: "KeychainCore", swiftSettings: settings),
        // Keys, sealing, labels, secret memory.
        .target(
            name: "KeychainCrypto", dependencies: ["KeychainCore", crypto, cryptoExtras],
            swiftSettings: settings),
        // Tables, transactions, page checksums, salvage.
        .systemLibrary(
            name: "CKeychainSQLite", path: "Sources/CKeychainSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .target(
            name: "KeychainSQLite",
            dependencies: ["KeychainCore", "KeychainCrypto", "CKeychainSQLite"],
            swiftSettings: settings),
        // One request end to end.
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
        // Items between machines: who belongs to a circle, what travels, and what counts.
        .target(
            name: "KeychainSynchronization",
            dependencies: ["KeychainCore", "KeychainCrypto", "KeychainSQLite", crypto],
            swiftSettings: settings),
        // A circle's machine: between a keychain and the relay that uses the network.
        .target(
            name: "KeychainSynchronizer",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainSQLite", "KeychainEngine",
                "KeychainSynchronization",
            ],
            swiftSettings: settings),
        // A client of etcd, which is where circles of machines meet.
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
        // What a relay does: it carries records between a keychain and a server.
        .target(
            name: "KeychainRelay",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainSynchronization", "KeychainEtcd",
            ],
            swiftSettings: settings),
        // What client and service say to each other.
        .target(
            name: "KeychainWire", dependencies: ["KeychainCore"], swiftSettings: settings),
        // Which keychain a process speaks to: the service's, or the one it opens itself.
        .target(
            name: "KeychainRuntime",
            dependencies: [
                "KeychainCore", "KeychainCrypto", "KeychainEngine", "KeychainWire", "KeychainTPM",
                .target(
                    name: "KeychainSynchronizer", condition: .when(traits: ["Synchronization"])),
            ],
            swiftSettings: settings),
        // The service: who asks, and what of the keychain they may have.
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
        // Who somebody is: contexts, and the ways to ask a person.
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
        // RSA and elliptic keys, PKCS #8, and containers of keys and certificates under a password.
        .target(
            name: "KeychainAsymmetricKeys",
            dependencies: [
                "KeychainCore", "KeychainCrypto", crypto, cryptoExtras, asn1,
                .product(
                    name: "NIOSSL", package: "swift-nio-ssl",
                    condition: .when(traits: ["OlderPKCS12"])),
            ],
            swiftSettings: settings),
        // Apple's names with Apple's behaviour.
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
        // Apple's cryptography under a name that can be aliased to Apple's.
        .target(
            name: "KeychainCryptoKit",
            dependencies: [crypto]
                + elsewhere([
                    "KeychainCore", "KeychainCrypto", "KeychainRuntime", "KeychainAuthentication",
                    "KeychainServices",
                ]),
            swiftSettings: settings),
        .target(name: "KeychainCryptoKitAliasShim", dependencies: ["KeychainCryptoKit"]),
        // Requests of the Swift API through the SecItem functions: the system's, or those above.
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
        // A keychain in memory for the tests of those who use the package.
        .target(
            name: "KeychainTesting",
            dependencies: elsewhere([
                "KeychainCore", "KeychainCrypto", "KeychainAsymmetricKeys", "KeychainSQLite",
                "KeychainRuntime", "KeychainEngine", "KeychainAuthentication", "KeychainServices",
                "KeychainSecItem", "Keychain",
            ]),
            swiftSettings: settings),
        // The tool for people.
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
        // Vectors of the file formats: their files, and what writes them.
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
                "KeychainSQLite",
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
                "KeychainEngine", "TestPrograms",
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
        // Figures of synchronization, beside those of etcd itself.
        .executableTarget(
            name: "circle-figures",
            dependencies: [
                "KeychainEtcd", "EtcdTestSupport", "SynchronizationTestSupport", "KeychainRelay",
                "KeychainSynchronization", "KeychainCore", "KeychainEngine",
            ],
            path: "Tests/CircleFigures", swiftSettings: settings),
        .testTarget(
            name: "KeychainEtcdTests",
            dependencies: [
                "KeychainEtcd", "EtcdTestSupport", "SynchronizationTestSupport", "TestPrograms",
                "keychainctl", "keychaind", "KeychainRelay",
                "KeychainSynchronization", "KeychainCore", "KeychainEngine",
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
        // A chip that software plays, where the trait TPM is on.
        .testTarget(
            name: "KeychainTPMTests",
            dependencies: [
                "TestPrograms",
                "KeychainTPM", "KeychainCore", "KeychainCrypto", "KeychainEngine",
                "KeychainRuntime", "KeychainServices", crypto,
            ],
            swiftSettings: settings),
        // The repository's own rules.
        .testTarget(name: "RepositoryTests", swiftSettings: settings),
        // A peer of the service: it connects, becomes another program, or works until it is killed.
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
        // What tests of several modules share: programs beside a test, doubles, changed pages.
        .target(
            name: "TestPrograms",
            dependencies: ["KeychainCore", "KeychainCrypto", "KeychainSQLite"],
            path: "Tests/TestPrograms", swiftSettings: settings),
        // Kills, crowds, floods and falsifies.
        .executableTarget(
            name: "fault-writer",
            dependencies: [
                "FaultSweeps", "TestPrograms", "KeychainCore", "KeychainSQLite", "KeychainEngine",
            ],
            path: "Tests/FaultWriter", swiftSettings: settings),
        // Interruptions and damage at every place, and what the keychain must answer then.
        .target(
            name: "FaultSweeps",
            dependencies: [
                "TestPrograms", "KeychainCore", "KeychainCrypto", "KeychainSQLite",
                "KeychainEngine", logging,
            ],
            path: "Tests/FaultSweeps", swiftSettings: settings),
        // The long sweeps.
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
