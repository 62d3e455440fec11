// What users of the package can rely on in Package.swift: which modules each module depends on, and
// that no target has the name of a target in a package that is often used with this one.

import Foundation
import Testing

@Suite struct `The manifest` {
    @Test func `every target in Package.swift is parsed`() throws {
        let text = try Repository.file("Package.swift")
        let manifest = Manifest(text: text)
        let count = text.matches(
            of: /(?m)^ {8}\.(target|executableTarget|testTarget|systemLibrary)\(/
        ).count
        #expect(manifest.targets.count == count)
        #expect(count > 40)
        for target in manifest.targets {
            for dependency in target.dependencies where !dependency.isLibrary {
                #expect(
                    manifest.target(dependency.name) != nil,
                    "\(target.name) depends on \(dependency.name)")
            }
        }
    }

    /// Two targets with the same name in different packages make a build with SwiftPM fail. The
    /// packages are those named in Documentation/SourceCompatibility.md, and the target names are
    /// from their manifests.
    @Test
    func `no target has the name of a target in a package that is often used with this package`()
        throws
    {
        let others: [(package: String, targets: [String])] = [
            ("swift-certificates", ["X509", "_CertificateInternals"]),
            ("swift-asn1", ["SwiftASN1"]),
            (
                "swift-crypto",
                [
                    "CCryptoBoringSSL", "CCryptoBoringSSLShims", "CXKCP", "CXKCPShims", "Crypto",
                    "CryptoExtras", "_CryptoExtras", "CryptoBoringWrapper", "crypto-shasum",
                ]
            ),
            ("KeychainAccess", ["KeychainAccess"]), ("KeychainSwift", ["KeychainSwift"]),
            ("Valet", ["Valet"]), ("SimpleKeychain", ["SimpleKeychain"]),
            ("SwiftKeychainWrapper", ["SwiftKeychainWrapper"]),
        ]
        let document = try Repository.file("Documentation/SourceCompatibility.md")
        let own = Set(try Manifest().targets.map(\.name))
        #expect(own.contains("Keychain"))
        for other in others {
            #expect(document.contains(other.package), "\(other.package) isn't named")
            #expect(own.isDisjoint(with: other.targets), "\(other.package)")
        }
    }

    @Test func `dependencies are parsed in every form`() {
        let manifest = Manifest(
            text: """
                let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
                let nio: [Target.Dependency] = [
                    .product(name: "NIOCore", package: "swift-nio"),
                    .product(name: "NIOPosix", package: "swift-nio"),
                ]

                let package = Package(
                    targets: [
                        // A comment.
                        .target(name: "A", swiftSettings: settings),
                        .target(
                            name: "B",
                            dependencies: [
                                "A", crypto,
                                .target(name: "S", condition: .when(platforms: applePlatforms)),
                                .target(name: "L", condition: .when(platforms: otherPlatforms)),
                                .product(
                                    name: "NIOSSL", package: "swift-nio-ssl",
                                    condition: .when(traits: ["Older"])),
                            ] + nio + elsewhere(["M", "N"]),
                            path: "Sources/B", swiftSettings: settings),
                    ]
                )
                """)
        #expect(manifest.targets.map(\.name) == ["A", "B"])
        #expect(
            Set(manifest.target("B")?.dependencies ?? []) == [
                .init(name: "A"), .init(name: "Crypto", isLibrary: true),
                .init(name: "S", isForApple: true), .init(name: "L", isForOthers: true),
                .init(name: "M", isForOthers: true), .init(name: "N", isForOthers: true),
                .init(name: "NIOSSL", isLibrary: true, trait: "Older"),
                .init(name: "NIOCore", isLibrary: true), .init(name: "NIOPosix", isLibrary: true),
            ])
        #expect(manifest.closure(of: "B").contains("L"))
        #expect(!manifest.closure(of: "B").contains("S"))
        #expect(!manifest.closure(of: "B").contains("NIOSSL"))
        #expect(
            manifest.closure(of: "B", onApple: true) == [
                "A", "B", "S", "Crypto", "NIOCore", "NIOPosix",
            ])
    }

    /// Modules that a user of the Swift API doesn't build, whichever traits are on.
    @Test(arguments: [
        "KeychainServices", "KeychainSecItem", "KeychainAsymmetricKeys", "KeychainDaemon",
        "KeychainTool", "X509", "SwiftASN1", "NIOSSL", "NIOCore", "NIOPosix", "ServiceLifecycle",
        "UnixSignals", "ArgumentParser", "KeychainEtcd", "KeychainRelay", "AsyncHTTPClient",
    ])
    func `Keychain is built without a module that only other products need`(_ name: String) throws {
        let manifest = try Manifest()
        let all = manifest.closure(
            of: "Keychain", traits: ["OlderPKCS12", "TPM", "Synchronization"])
        #expect(!all.contains(name))
        // A misspelled name would make the check above meaningless.
        #expect(
            manifest.target(name) != nil
                || manifest.targets.contains { $0.dependencies.contains { $0.name == name } })
    }

    @Test func `on Apple's platforms Keychain calls the system's functions`() throws {
        let own = try #require(try Manifest().target("Keychain")).dependencies
        #expect(own.contains(Manifest.Dependency(name: "KeychainSecItem", isForApple: true)))
        let backend = try #require(try Manifest().target("KeychainSecItem")).dependencies
        #expect(
            backend.contains(Manifest.Dependency(name: "KeychainServicesDarwin", isForApple: true))
        )
    }

    /// SwiftPM compiles the modules of a conditional dependency only if the condition holds. NIOSSL
    /// should be compiled only on request: the dependency on it requires the trait OlderPKCS12,
    /// which is off by default.
    @Test func `no trait is on by default`() throws {
        let text = try Repository.file("Package.swift")
        #expect(text.contains(".default(enabledTraits: [])"))
        let manifest = try Manifest()
        #expect(!manifest.closure(of: "KeychainServices").contains("NIOSSL"))
        #expect(
            manifest.closure(of: "KeychainServices", traits: ["OlderPKCS12"]).contains("NIOSSL"))
    }

    @Test func `CONTRIBUTING shows the current dependencies of the modules`() throws {
        let picture = try Manifest().picture
        let document = try Repository.file("CONTRIBUTING.md")
        let shown = document.split(separator: "\n").filter { $0.contains(" │ ") }.map(String.init)
        #expect(
            shown == picture,
            "CONTRIBUTING.md should show these lines:\n\(picture.joined(separator: "\n"))")
        #expect(picture.count > 20)
    }
}
