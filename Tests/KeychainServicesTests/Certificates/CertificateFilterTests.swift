// CertificateFilterTests: the conditions of searches for certificates. The numbers in test names
// are the numbers of cases in section Q of Documentation/Cases.md.

#if !canImport(Darwin)

import Foundation
import KeychainCore
import Testing

@testable import KeychainServices

@Suite struct CertificateFilterTests {
    let made: TrustFixtures

    init() throws {
        made = try TrustFixtures.shared.get()
    }

    /// The certificates that a filter accepts. Issuers are found by their subject, as the engine
    /// finds them.
    private func accepted(
        _ filter: CertificateFilter, among certificates: [SecCertificate]? = nil,
        systemRoots: SystemRoots = SystemRoots(paths: [])
    ) -> [SecCertificate] {
        let all =
            certificates ?? [made.root, made.intermediate, made.server, made.client, made.mail]
        return all.filter { certificate in
            filter.accepts(certificate, systemRoots: systemRoots) { child in
                all.filter {
                    $0.itemAttributes[.subject] == child.itemAttributes[.issuer]
                }
            }
        }
    }

    @Test func `a filter without conditions accepts everything`() {
        #expect(CertificateFilter().acceptsEverything)
        #expect(accepted(CertificateFilter()).count == 5)
    }

    @Test func `Q367, Q368, Q370: a policy selects by purpose and email address`() throws {
        let mail = try #require(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, nil))
        #expect(accepted(CertificateFilter(policy: mail)).contains(made.mail))
        #expect(!accepted(CertificateFilter(policy: mail)).contains(made.server))
        let alice = try #require(
            SecPolicyCreateWithProperties(
                kSecPolicyAppleSMIME, [kSecPolicyName: "alice@example.com"] as CFDictionary))
        #expect(accepted(CertificateFilter(policy: alice)) == [made.mail])
        let client = SecPolicyCreateSSL(false, nil)
        #expect(
            accepted(
                CertificateFilter(policy: client), among: [made.client, made.server, made.mail])
                == [made.client])
        #expect(accepted(CertificateFilter(policy: SecPolicyCreateBasicX509())).count == 5)
    }

    @Test func `Q371, Q373: outside its validity period a certificate doesn't match`() {
        let day: TimeInterval = 86_400
        let before = made.root.structure.notBefore - day
        let after = made.mail.structure.notAfter + day
        for date in [before, after] {
            #expect(accepted(CertificateFilter(validOn: date)).isEmpty)
            #expect(
                accepted(CertificateFilter(policy: SecPolicyCreateBasicX509(), validOn: date))
                    .isEmpty)
        }
        #expect(accepted(CertificateFilter(validOn: made.mail.structure.notBefore)).count >= 1)
        #expect(accepted(CertificateFilter(validOn: Date())).count == 5)
    }

    @Test func `Q376, Q377: only certificates with a chain to a system authority are trusted`()
        throws
    {
        #expect(accepted(CertificateFilter(trustedOnly: true)).isEmpty)
        #expect(accepted(CertificateFilter(trustedOnly: false)).count == 5)
        let roots = SystemRoots(paths: [
            made.maker.openSSL.folder.appending(path: "root.pem").path
        ])
        #expect(accepted(CertificateFilter(trustedOnly: true), systemRoots: roots).count == 5)
        // The root certificate doesn't have to be in the keychain, but the intermediate does.
        #expect(
            accepted(
                CertificateFilter(trustedOnly: true), among: [made.server, made.intermediate],
                systemRoots: roots
            ).count == 2)
        #expect(
            accepted(
                CertificateFilter(trustedOnly: true), among: [made.server, made.root],
                systemRoots: roots
            ) == [made.root])
    }

    @Test func `Q379, Q380: an issuer further up the chain matches`() throws {
        let root = try #require(SecCertificateCopyNormalizedSubjectSequence(made.root) as Data?)
        let middle = try #require(
            SecCertificateCopyNormalizedSubjectSequence(made.intermediate) as Data?)
        let leaves = [made.server, made.client, made.mail]
        #expect(accepted(CertificateFilter(issuers: [root])).count == 5)
        #expect(accepted(CertificateFilter(issuers: [middle])) == leaves)
        // Without the intermediate certificate, the chain is incomplete.
        #expect(accepted(CertificateFilter(issuers: [root]), among: leaves).isEmpty)
        let other = try #require(
            SecCertificateCopyNormalizedSubjectSequence(made.otherRoot) as Data?)
        #expect(accepted(CertificateFilter(issuers: [other])).isEmpty)
        #expect(accepted(CertificateFilter(issuers: [other, middle])) == leaves)
    }

    @Test func `an empty list of issuers and an invalid name match nothing`() {
        #expect(accepted(CertificateFilter(issuers: [])).isEmpty)
        #expect(accepted(CertificateFilter(issuers: [Data("CN=Root".utf8)])).isEmpty)
    }

    @Test func `issuers are compared in their normalized form`() throws {
        let maker = try CertificateMaker()
        let root = try maker.make("root", subject: "/CN=Some Root", printable: true)
        // The name as OpenSSL would encode it, but in lower case.
        let name =
            Data([0x30, 20, 0x31, 18, 0x30, 16, 6, 3, 0x55, 4, 3, 0x13, 9])
            + Data("some root".utf8)
        #expect(accepted(CertificateFilter(issuers: [name]), among: [root]) == [root])
    }

    @Test func `the search for issuers ends after ten issuers, and in a cycle`() throws {
        let maker = try CertificateMaker()
        var chain = [try maker.make("0", subject: "/CN=0")]
        for level in 1...12 {
            chain.append(
                try maker.make(
                    "\(level)", subject: "/CN=\(level)", issuer: "\(level - 1)",
                    extensions: CertificateMaker.authority))
        }
        let top = try #require(SecCertificateCopyNormalizedSubjectSequence(chain[0]) as Data?)
        let matches = accepted(CertificateFilter(issuers: [top]), among: chain)
        // Certificate 11 has ten issuers between itself and the name at the top.
        #expect(matches == Array(chain[0...11]))
        // A cycle: the closure reports two authorities as the issuers of both.
        let one = try #require(SecCertificateCopyNormalizedSubjectSequence(made.otherRoot) as Data?)
        let circle = [made.root, made.intermediate]
        let found = circle.filter { certificate in
            CertificateFilter(issuers: [one]).accepts(certificate) { _ in circle }
        }
        #expect(found.isEmpty)
    }

    @Test(arguments: ["alice@example.com", "ALICE@EXAMPLE.COM"])
    func `an email address is compared regardless of case`(address: String) {
        #expect(accepted(CertificateFilter(emailAddress: address)) == [made.mail])
    }

    @Test func `Q391: a certificate without an email address doesn't match`() {
        #expect(accepted(CertificateFilter(emailAddress: "a@b.com")).isEmpty)
        #expect(accepted(CertificateFilter(emailAddress: "")).isEmpty)
    }

    @Test func `all conditions of a filter must hold`() {
        let address = "alice@example.com"
        #expect(
            accepted(
                CertificateFilter(policy: SecPolicyCreateSSL(true, nil), emailAddress: address)
            ).isEmpty)
    }
}

#endif
