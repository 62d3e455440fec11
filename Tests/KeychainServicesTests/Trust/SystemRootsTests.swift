// SystemRootsTests: the file of the system's trusted authorities.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct SystemRootsTests {
    let made: TrustFixtures
    let folder: OpenSSL

    init() throws {
        made = try TrustFixtures.shared.get()
        folder = try OpenSSL()
    }

    private func roots() -> SystemRoots {
        SystemRoots(paths: [
            folder.folder.appending(path: "absent.pem").path,
            folder.folder.appending(path: "bundle.pem").path,
        ])
    }

    @Test func `if the first file of authorities is missing, the next one is read`() throws {
        let one = try made.maker.openSSL.contents(of: "root.pem")
        let other = try made.maker.openSSL.contents(of: "other.pem")
        try folder.write(Data("# comment\n".utf8) + one + Data("\n".utf8) + other, to: "bundle.pem")
        #expect(roots().certificates == [made.root, made.otherRoot])
    }

    @Test func `without a file of authorities nothing is trusted`() {
        #expect(roots().certificates.isEmpty)
        let outcome = TrustEvaluation(
            leaf: made.server, others: [made.intermediate, made.root], systemRoots: roots(),
            policies: [SecPolicyCreateBasicX509()], date: Date()
        ).outcome()
        #expect(outcome.failure?.status == errSecNotTrusted)
    }

    @Test func `a changed file of authorities is read again`() throws {
        let roots = roots()
        try folder.write(try made.maker.openSSL.contents(of: "root.pem"), to: "bundle.pem")
        #expect(roots.certificates == [made.root])
        try folder.write(try made.maker.openSSL.contents(of: "other.pem"), to: "bundle.pem")
        // Some file systems have coarse timestamps, which would hide a change made right away.
        // Therefore the file gets a later modification date.
        try FileManager.default.setAttributes(
            [.modificationDate: Date() + 10],
            ofItemAtPath: folder.folder.appending(path: "bundle.pem").path)
        #expect(roots.certificates == [made.otherRoot])
    }

    @Test func `after a failed read of the file of authorities, the next use reads it`() throws {
        let roots = roots()
        let path = folder.folder.appending(path: "bundle.pem").path
        // A folder can't be read as a file.
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(roots.certificates.isEmpty)
        let modified = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
        try FileManager.default.removeItem(atPath: path)
        try folder.write(try made.maker.openSSL.contents(of: "root.pem"), to: "bundle.pem")
        try FileManager.default.setAttributes(
            [.modificationDate: try #require(modified)], ofItemAtPath: path)
        #expect(roots.certificates == [made.root])
    }

    @Test func `content other than certificates in the file of authorities is skipped`() throws {
        let key = try made.maker.openSSL.contents(of: "root.key")
        let root = try made.maker.openSSL.contents(of: "root.pem")
        let broken = Data(
            "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n".utf8)
        try folder.write(key + broken + root, to: "bundle.pem")
        #expect(roots().certificates == [made.root])
        let other = try made.maker.openSSL.contents(of: "other.pem")
        for malformed in [
            "-----BEGIN CERTIFICATE-----\nM*MCAQA=\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n", "-----BEGIN CERTIFICATE-----\n",
            "-----BEGIN X-----\n", "-----END CERTIFICATE-----\n",
        ] {
            try folder.write(root + Data(("\n" + malformed).utf8) + other, to: "bundle.pem")
            #expect(roots().certificates == [made.root, made.otherRoot])
        }
        try folder.write(Data([0xFF, 0, 1]), to: "bundle.pem")
        #expect(roots().certificates.isEmpty)
    }
}

#endif
