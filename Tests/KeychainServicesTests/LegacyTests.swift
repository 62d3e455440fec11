// LegacyTests: Apple's deprecated functions for file-based keychains and shared web credentials.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct LegacyTests {
    @Test func `a function on file-based keychains reports that it isn't implemented`() {
        let answers = (FileBasedKeychains.self as any LegacyCalls.Type).answers
        #expect(answers.count == 11)
        for (name, status) in answers {
            #expect(status == errSecUnimplemented, "\(name)")
        }
    }

    @Test func `saving or finding a shared web credential fails, and the caller gets the error`()
        throws
    {
        let answers = (SharedWebCredentials.self as any LegacyCalls.Type).answers
        #expect(
            answers.map(\.name) == ["SecAddSharedWebCredential", "SecRequestSharedWebCredential"])
        for (name, status) in answers {
            #expect(status == errSecUnimplemented, "\(name)")
        }
    }

    @Test
    func `a generated password has four groups, every kind of character and no ambiguous ones`()
        throws
    {
        let passwords = try (0..<1000).map { _ in
            try #require(SecCreateSharedWebCredentialPassword()) as String
        }
        for password in passwords {
            let groups = password.split(separator: "-", omittingEmptySubsequences: false)
            #expect(groups.map(\.count) == [3, 3, 3, 3], "\(password)")
            #expect(password.contains { $0.isUppercase }, "\(password)")
            #expect(password.contains { $0.isLowercase }, "\(password)")
            #expect(password.contains { $0.isNumber }, "\(password)")
            #expect(password.allSatisfy { $0.isASCII && !"IOl01".contains($0) }, "\(password)")
        }
        #expect(Set(passwords).count == 1000)
    }

    @Test func `every allowed character occurs in generated passwords`() throws {
        var seen: Set<Character> = []
        // The probability that one of 56 characters is missing after 24,000 draws is about 10⁻¹⁸⁶.
        for _ in 0..<2000 {
            seen.formUnion(try #require(SecCreateSharedWebCredentialPassword()) as String)
        }
        let all =
            SharedWebPassword.uppercase + SharedWebPassword.lowercase + SharedWebPassword.digits
        #expect(all.count == 56)
        #expect(seen == Set(String(decoding: all, as: UTF8.self) + "-"))
    }
}

/// Calls deprecated functions. Only code that is itself deprecated can call these functions without
/// a warning. Therefore `answers` is deprecated in the types below, and the tests read it through
/// this protocol, in which it isn't deprecated.
private protocol LegacyCalls {
    static var answers: [(name: String, status: OSStatus?)] { get }
}

private enum FileBasedKeychains: LegacyCalls {
    @available(*, deprecated)
    static var answers: [(name: String, status: OSStatus?)] {
        var keychain: SecKeychain?
        var list: CFArray?
        var access: SecAccess?
        var application: SecTrustedApplication?
        var keychainStatus: SecKeychainStatus = 0x55
        var length: UInt32 = 4
        var path = [CChar](repeating: 0x55, count: 4)
        // SAFETY: the variables outlive the calls.
        let answers: [(name: String, status: OSStatus?)] = unsafe [
            ("SecKeychainCreate", SecKeychainCreate("/path", 1, "p", false, nil, &keychain)),
            ("SecKeychainOpen", SecKeychainOpen("/path", &keychain)),
            ("SecKeychainDelete", SecKeychainDelete(nil)),
            ("SecKeychainCopyDomainSearchList", SecKeychainCopyDomainSearchList(.user, &list)),
            ("SecKeychainGetPath", SecKeychainGetPath(nil, &length, &path)),
            ("SecKeychainGetStatus", SecKeychainGetStatus(nil, &keychainStatus)),
            ("SecKeychainLock", SecKeychainLock(nil)),
            ("SecKeychainUnlock", SecKeychainUnlock(nil, 1, "p", true)),
            ("SecAccessCreate", SecAccessCreate("label" as CFString, nil, &access)),
            (
                "SecTrustedApplicationCreateFromPath",
                SecTrustedApplicationCreateFromPath(nil, &application)
            ),
            (
                "results",
                keychain == nil && list == nil && access == nil && application == nil
                    && keychainStatus == 0x55 && length == 4 && path == [0x55, 0x55, 0x55, 0x55]
                    ? errSecUnimplemented : nil
            ),
        ]
        return answers
    }
}

private enum SharedWebCredentials: LegacyCalls {
    @available(*, deprecated)
    static var answers: [(name: String, status: OSStatus?)] {
        var answers: [(name: String, status: OSStatus?)] = []
        SecAddSharedWebCredential(
            "example.org" as CFString, "account" as CFString, "password" as CFString
        ) { error in
            answers.append(("SecAddSharedWebCredential", status(error)))
        }
        SecRequestSharedWebCredential(nil, nil) { list, error in
            let isEmpty = list == nil
            answers.append(
                ("SecRequestSharedWebCredential", isEmpty ? status(error) : nil))
        }
        return answers
    }

    private static func status(_ error: CFError?) -> OSStatus? {
        guard let error, error.domain == kCFErrorDomainOSStatus as String else { return nil }
        return OSStatus(error.code)
    }
}

#endif
