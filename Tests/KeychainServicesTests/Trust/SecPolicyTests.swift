// SecPolicyTests: policies and their properties.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct SecPolicyTests {
    private func properties(_ policy: SecPolicy) -> [String: AnyHashable]? {
        SecPolicyCopyProperties(policy) as? [String: AnyHashable]
    }

    @Test func `a policy tells its properties`() {
        #expect(
            properties(SecPolicyCreateBasicX509()) == ["SecPolicyOid": "1.2.840.113635.100.1.2"])
        #expect(
            properties(SecPolicyCreateSSL(true, nil)) == ["SecPolicyOid": "1.2.840.113635.100.1.3"])
        #expect(
            properties(SecPolicyCreateSSL(false, "example.com" as CFString))
                == [
                    "SecPolicyOid": "1.2.840.113635.100.1.3", "SecPolicyName": "example.com",
                    "SecPolicyClient": true,
                ])
    }

    @Test func `a policy can be made from its properties`() throws {
        let policies = [
            SecPolicyCreateBasicX509(), SecPolicyCreateSSL(true, nil),
            SecPolicyCreateSSL(false, nil), SecPolicyCreateSSL(true, "example.com" as CFString),
            SecPolicyCreateSSL(false, "example.com" as CFString),
            try #require(
                SecPolicyCreateWithProperties(
                    kSecPolicyAppleSMIME, [kSecPolicyName: "a@example.com"] as CFDictionary)),
        ]
        for policy in policies {
            let properties = try #require(SecPolicyCopyProperties(policy))
            let identifier = try #require(properties[kSecPolicyOid] as? NSString)
            #expect(SecPolicyCreateWithProperties(identifier, properties) == policy)
        }
        #expect(Set(policies).count == 6)
        #expect(CFGetTypeID(policies[0]) == SecPolicyGetTypeID())
    }

    @Test func `what can't be a policy is none`() {
        #expect(SecPolicyCreateWithProperties("1.2.3" as CFString, nil) == nil)
        #expect(SecPolicyCreateWithProperties(NSNumber(value: 1), nil) == nil)
        #expect(
            SecPolicyCreateWithProperties(
                kSecPolicyAppleSSL, [kSecPolicyName: 1] as CFDictionary) == nil)
        #expect(
            SecPolicyCreateWithProperties(
                kSecPolicyAppleSSL, [kSecPolicyClient: "yes"] as CFDictionary) == nil)
    }
}

#endif
