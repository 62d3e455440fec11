// SecTrustTests: evaluations of certificate chains made by OpenSSL.

#if !canImport(Darwin)

import Foundation
import KeychainCore
import Testing

@testable import KeychainServices

@Suite struct SecTrustTests {
    let made: TrustFixtures

    init() throws {
        made = try TrustFixtures.shared.get()
    }

    private func trust(
        _ certificates: [SecCertificate], _ policies: CFTypeRef? = nil
    ) throws -> SecTrust {
        var trust: SecTrust?
        let status = unsafe SecTrustCreateWithCertificates(
            certificates as CFArray, policies, &trust)
        #expect(status == errSecSuccess)
        return try #require(trust)
    }

    private func chain(_ trust: SecTrust) -> [SecCertificate]? {
        SecTrustCopyCertificateChain(trust) as? [SecCertificate]
    }

    private func result(_ trust: SecTrust) -> SecTrustResultType? {
        var result = SecTrustResultType.otherError
        return unsafe SecTrustGetTrustResult(trust, &result) == errSecSuccess ? result : nil
    }

    // MARK: - Chains

    @Test func `a chain to an anchor is trusted`() throws {
        let trust = try trust([made.server, made.intermediate])
        #expect(SecTrustSetAnchorCertificates(trust, [made.root] as CFArray) == errSecSuccess)
        #expect(result(trust) == .invalid)
        var error: CFError? = nil
        #expect(unsafe SecTrustEvaluateWithError(trust, &error))
        #expect(error == nil)
        #expect(result(trust) == .unspecified)
        #expect(chain(trust) == [made.server, made.intermediate, made.root])
        #expect(SecTrustGetCertificateCount(trust) == 3)
        #expect(CFGetTypeID(trust) == SecTrustGetTypeID())
    }

    @Test func `the order of the certificates after the leaf doesn't matter`() {
        #expect(
            judge(
                [made.server, made.root, made.otherRoot, made.intermediate], anchors: [made.root])
                == nil)
    }

    @Test func `a chain without an anchor isn't trusted`() throws {
        let trust = try trust([made.server, made.intermediate, made.root])
        for anchors in [[made.otherRoot], []] {
            #expect(SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess)
            var error: CFError?
            #expect(unsafe !SecTrustEvaluateWithError(trust, &error))
            #expect(error?.code == Int(errSecNotTrusted))
            #expect(error?.domain == NSOSStatusErrorDomain)
            #expect(error?.localizedDescription.isEmpty == false)
            #expect(result(trust) == .recoverableTrustFailure)
            #expect(chain(trust) == [made.server, made.intermediate, made.root])
        }
    }

    @Test func `a chain with a missing intermediate isn't trusted`() throws {
        let trust = try trust([made.server])
        #expect(SecTrustSetAnchorCertificates(trust, [made.root] as CFArray) == errSecSuccess)
        #expect(!isTrusted(trust))
        #expect(chain(trust) == [made.server])
    }

    /// None of the certificates that tests make is among the system's authorities.
    @Test func `the system's authorities are the default anchors`() throws {
        let trust = try trust([made.server, made.intermediate, made.root])
        var error: CFError?
        #expect(unsafe !SecTrustEvaluateWithError(trust, &error))
        #expect(error?.code == Int(errSecNotTrusted))
        #expect(SecTrustSetAnchorCertificates(trust, [made.root] as CFArray) == errSecSuccess)
        #expect(isTrusted(trust))
        #expect(SecTrustSetAnchorCertificates(trust, nil) == errSecSuccess)
        #expect(!isTrusted(trust))
    }

    @Test func `an anchor that isn't an authority is itself trusted`() throws {
        let alone = try made.maker.make(
            "alone", subject: "/CN=Alone", extensions: CertificateMaker.server("DNS:a.example.com"))
        let policy = SecPolicyCreateSSL(true, "a.example.com" as CFString)
        #expect(judge([alone], anchors: [alone], policy) == nil)
        #expect(judge([alone], anchors: [made.root], policy)?.code == Int(errSecNotTrusted))
        let wrong = SecPolicyCreateSSL(true, "b.example.com" as CFString)
        #expect(judge([alone], anchors: [alone], wrong)?.code == Int(errSecHostNameMismatch))
    }

    @Test func `an anchor in the middle of a chain suffices`() {
        #expect(judge([made.server], anchors: [made.intermediate]) == nil)
    }

    @Test func `a certificate that isn't an authority can't issue others`() throws {
        let child = try made.maker.make("child", subject: "/CN=Child", issuer: "server")
        let error = judge([child, made.server, made.intermediate], anchors: [made.root])
        #expect(error?.code == Int(errSecNotTrusted))
    }

    @Test func `an authority needs the key usage for signing certificates`() throws {
        try made.maker.make(
            "mute", subject: "/CN=Mute", issuer: "root",
            extensions: ["basicConstraints=critical,CA:TRUE", "keyUsage=digitalSignature"])
        let child = try made.maker.make("heard", subject: "/CN=Heard", issuer: "mute")
        let error = judge([child, try made.maker.certificate("mute")], anchors: [made.root])
        #expect(error?.code == Int(errSecKeyUsageIncorrect))
    }

    @Test func `only anchors and leaves can be of version 1`() throws {
        let old = try made.maker.make("old", subject: "/CN=Old", issuer: "root")
        #expect(old.itemAttributes[.certificateType] == .number(1))
        #expect(judge([old], anchors: [made.root]) == nil)
        let child = try made.maker.make("young", subject: "/CN=Young", issuer: "old")
        #expect(judge([child, old], anchors: [made.root])?.code == Int(errSecNoBasicConstraints))
        #expect(judge([child], anchors: [old]) == nil)
    }

    @Test func `a chain longer than its path length constraint is refused`() throws {
        try made.maker.make(
            "short", subject: "/CN=Short",
            extensions: ["basicConstraints=critical,CA:TRUE,pathlen:0"])
        let middle = try made.maker.make(
            "middle", subject: "/CN=Middle", issuer: "short",
            extensions: CertificateMaker.authority)
        let leaf = try made.maker.make("far", subject: "/CN=Far", issuer: "middle")
        let anchors = [try made.maker.certificate("short")]
        #expect(judge([middle], anchors: anchors) == nil)
        #expect(judge([leaf, middle], anchors: anchors)?.code == Int(errSecNotTrusted))
    }

    @Test func `names outside the authority's name constraints are refused`() throws {
        try made.maker.make(
            "narrow", subject: "/CN=Narrow",
            extensions: CertificateMaker.authority + [
                "nameConstraints=critical,permitted;DNS:example.com"
            ])
        let inside = try made.maker.make(
            "inside", subject: "/CN=Inside", issuer: "narrow",
            extensions: CertificateMaker.server("DNS:www.example.com"))
        let outside = try made.maker.make(
            "outside", subject: "/CN=Outside", issuer: "narrow",
            extensions: CertificateMaker.server("DNS:www.example.org"))
        let anchors = [try made.maker.certificate("narrow")]
        #expect(judge([inside], anchors: anchors) == nil)
        #expect(judge([outside], anchors: anchors)?.code == Int(errSecNotTrusted))
    }

    @Test func `an unknown critical extension is refused`() throws {
        let odd = try made.maker.make(
            "odd", subject: "/CN=Odd", issuer: "root",
            extensions: ["1.2.3.4=critical,ASN1:NULL"])
        #expect(
            judge([odd], anchors: [made.root])?.code == Int(errSecUnknownCriticalExtensionFlag))
        #expect(judge([odd], anchors: [odd])?.code == Int(errSecUnknownCriticalExtensionFlag))
    }

    /// The search in the module X509 skips such an issuer without reporting the extension.
    @Test func `an issuer's unknown critical extension is reported like that of a leaf`() throws {
        let odd = try made.maker.make(
            "oddissuer", subject: "/CN=Odd issuer", issuer: "root",
            extensions: CertificateMaker.authority + ["1.2.3.4=critical,ASN1:NULL"])
        let child = try made.maker.make("oddchild", subject: "/CN=Odd child", issuer: "oddissuer")
        for anchor in [made.root, odd] {
            let failure = TrustEvaluation(
                leaf: child, others: [odd], anchors: [anchor],
                policies: [SecPolicyCreateBasicX509()], date: Date()
            ).outcome().failure
            #expect(failure?.status == errSecUnknownCriticalExtensionFlag)
            #expect(failure?.reason.hasPrefix(odd.nameForPeople) == true)
        }
    }

    @Test func `if there are too many possible issuers, the failure's reason says so`() throws {
        let failure = TrustEvaluation(
            leaf: made.server, others: Array(repeating: made.intermediate, count: 1001),
            anchors: [made.root], policies: [SecPolicyCreateBasicX509()], date: Date()
        ).outcome().failure
        #expect(failure?.status == errSecNotTrusted)
        #expect(failure?.reason.hasPrefix("There are too many possible issuers") == true)
    }

    /// An evaluation reads these extensions. The value of each is an ASN.1 null here.
    @Test(arguments: [
        "keyUsage", "extendedKeyUsage", "basicConstraints", "nameConstraints", "subjectAltName",
        "certificatePolicies",
    ])
    func `an invalid critical extension is refused`(name: String) throws {
        let maker = try CertificateMaker()
        let root = try maker.make("r", subject: "/CN=R", extensions: CertificateMaker.authority)
        let broken = ["\(name)=critical,DER:0500"]
        let others = CertificateMaker.authority.filter { !$0.hasPrefix(name) }
        let middle = try maker.make(
            "m", subject: "/CN=M", issuer: "r", extensions: others + broken)
        let leaf = try maker.make("l", subject: "/CN=L", issuer: "m")
        #expect(judge([leaf, middle], anchors: [root]) != nil)
        let status = Int(errSecUnknownCriticalExtensionFlag)
        #expect(judge([middle], anchors: [root])?.code == status)
        #expect(judge([middle], anchors: [middle])?.code == status)
    }

    @Test
    func `an authority with constraints on mail addresses, which aren't checked, isn't trusted`()
        throws
    {
        try made.maker.make(
            "mailnames", subject: "/CN=Mail names",
            extensions: CertificateMaker.authority + [
                "nameConstraints=critical,permitted;email:example.com"
            ])
        let leaf = try made.maker.make(
            "mailname", subject: "/CN=Mail name", issuer: "mailnames",
            extensions: ["subjectAltName=email:a@example.com"])
        let anchors = [try made.maker.certificate("mailnames")]
        #expect(judge([leaf], anchors: anchors)?.code == Int(errSecNotTrusted))
    }

    @Test func `a changed signature is refused`() throws {
        var der = made.server.der
        der[der.count - 1] ^= 1
        let changed = try #require(SecCertificate(der: der))
        let error = judge([changed, made.intermediate], anchors: [made.root])
        #expect(error?.code == Int(errSecNotTrusted))
    }

    /// A leaf and eight authorities that all certified each other form more than ten thousand
    /// chains, none of which ends at an anchor. Trying all chains would take too long for a test.
    @Test func `the search for a chain ends even if many authorities certified each other`() throws
    {
        let maker = try CertificateMaker()
        let names = (0..<8).map { "a\($0)" }
        for name in names {
            try maker.make(name, subject: "/CN=\(name)", extensions: CertificateMaker.authority)
        }
        // `certify` overwrites the authority's file, from which later calls take the issuer's
        // certificate. So the self-signed certificate is written back.
        var crossed: [SecCertificate] = []
        for name in names {
            let own = try maker.openSSL.contents(of: "\(name).pem")
            for issuer in names where issuer != name {
                crossed.append(
                    try maker.certify(
                        name, subject: "/CN=\(name)", issuer: issuer,
                        extensions: CertificateMaker.authority))
                try maker.openSSL.write(own, to: "\(name).pem")
            }
        }
        #expect(crossed.count == 56)
        let leaf = try maker.make("leaf", subject: "/CN=Leaf", issuer: "a0")
        #expect(judge([leaf] + crossed, anchors: [made.root])?.code == Int(errSecNotTrusted))
        // If one of the authorities is an anchor, the search finds the chain.
        #expect(judge([leaf] + crossed, anchors: [try maker.certificate("a0")]) == nil)
        // If no chain ends at an anchor, the outcome contains an incomplete chain. The search for
        // the incomplete chain has a limit too: 1000 candidates.
        for (count, length) in [(1000, 2), (1001, 1)] {
            let outcome = TrustEvaluation(
                leaf: made.server, others: Array(repeating: made.intermediate, count: count),
                policies: [SecPolicyCreateBasicX509()], date: Date()
            ).outcome()
            #expect(outcome.chain.count == length)
            #expect(outcome.failure?.status == errSecNotTrusted)
        }
        let budget = SearchBudget(candidateCount: 3)
        #expect(budget.take(2))
        #expect(!budget.take(2))
        #expect(budget.take(1))
        #expect(!budget.take(1))
    }

    // MARK: - Time

    @Test func `a chain is trusted only while all of its certificates are valid`() throws {
        let day: TimeInterval = 86_400
        let certificates = [made.server, made.intermediate]
        let anchors = [made.root]
        let begin = made.server.structure.notBefore
        let end = made.root.structure.notAfter
        #expect(judge(certificates, anchors: anchors, at: begin) == nil)
        #expect(judge(certificates, anchors: anchors, at: end) == nil)
        #expect(
            judge(certificates, anchors: anchors, at: begin - 2 * day)?.code
                == Int(errSecCertificateNotValidYet))
        #expect(
            judge(certificates, anchors: anchors, at: end + 2 * day)?.code
                == Int(errSecCertificateExpired))
        #expect(
            judge([made.root], anchors: anchors, at: end + 2 * day)?.code
                == Int(errSecCertificateExpired))
    }

    /// Every comparison with a date that is not a number is false.
    @Test(
        arguments: [
            (.nan, errSecCertificateNotValidYet), (-1e300, errSecCertificateNotValidYet),
            (.infinity, errSecCertificateExpired), (1e300, errSecCertificateExpired),
        ] as [(TimeInterval, OSStatus)])
    func `no certificate is valid at a date that is infinite, extreme or not a number`(
        seconds: TimeInterval, status: OSStatus
    ) {
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        let chain = [made.server, made.intermediate]
        #expect(judge(chain, anchors: [made.root], at: date)?.code == Int(status))
        #expect(judge([made.root], anchors: [made.root], at: date)?.code == Int(status))
        let filter = CertificateFilter(validOn: date)
        #expect(!filter.accepts(made.server) { _ in [] })
    }

    @Test func `the evaluation date can be read and set`() throws {
        let trust = try trust([made.server])
        let now = Date().timeIntervalSinceReferenceDate
        #expect(abs(SecTrustGetVerifyTime(trust) - now) < 3600)
        let moment = Date(timeIntervalSinceReferenceDate: 1_000_000)
        #expect(SecTrustSetVerifyDate(trust, moment as CFDate) == errSecSuccess)
        #expect(SecTrustGetVerifyTime(trust) == 1_000_000)
    }

    // MARK: - Settings

    @Test func `changing a setting discards the previous result`() throws {
        let trust = try trust([made.server, made.intermediate])
        let changes: [() -> OSStatus] = [
            { SecTrustSetAnchorCertificates(trust, [made.root] as CFArray) },
            { SecTrustSetAnchorCertificatesOnly(trust, true) },
            { SecTrustSetPolicies(trust, SecPolicyCreateBasicX509()) },
            { SecTrustSetVerifyDate(trust, Date() as CFDate) },
        ]
        for change in changes {
            _ = isTrusted(trust)
            #expect(result(trust) != .invalid)
            #expect(change() == errSecSuccess)
            #expect(result(trust) == .invalid)
        }
    }

    @Test func `all policies must hold`() throws {
        let trust = try trust(
            [made.server, made.intermediate],
            [SecPolicyCreateBasicX509(), SecPolicyCreateSSL(false, nil)] as CFArray)
        #expect(SecTrustSetAnchorCertificates(trust, [made.root] as CFArray) == errSecSuccess)
        var error: CFError?
        #expect(unsafe !SecTrustEvaluateWithError(trust, &error))
        #expect(error?.code == Int(errSecSSLBadExtendedKeyUsage))
        #expect(SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, nil)) == errSecSuccess)
        #expect(isTrusted(trust))
        var policies: CFArray?
        #expect(unsafe SecTrustCopyPolicies(trust, &policies) == errSecSuccess)
        #expect(policies as? [SecPolicy] == [SecPolicyCreateSSL(true, nil)])
        var anchors: CFArray?
        #expect(unsafe SecTrustCopyCustomAnchorCertificates(trust, &anchors) == errSecSuccess)
        #expect(anchors as? [SecCertificate] == [made.root])
    }

    @Test func `a value that isn't a certificate or policy is refused`() throws {
        var none: SecTrust?
        let text = "text" as CFString
        #expect(unsafe SecTrustCreateWithCertificates(text, nil, &none) == errSecParam)
        #expect(unsafe SecTrustCreateWithCertificates([] as CFArray, nil, &none) == errSecParam)
        #expect(
            unsafe SecTrustCreateWithCertificates([made.root, text] as CFArray, nil, &none)
                == errSecParam)
        #expect(unsafe SecTrustCreateWithCertificates(made.root, text, &none) == errSecParam)
        #expect(none == nil)
        let trust = try trust([made.root])
        #expect(SecTrustSetAnchorCertificates(trust, [text] as CFArray) == errSecParam)
        #expect(SecTrustSetPolicies(trust, [] as CFArray) == errSecParam)
        #expect(SecTrustSetPolicies(trust, made.root) == errSecParam)
        #expect(unsafe SecTrustCreateWithCertificates(made.root, nil, &none) == errSecSuccess)
        #expect(none != nil)
    }
}

#endif
