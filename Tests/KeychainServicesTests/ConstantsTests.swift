// ConstantsTests: every constant has Apple's value, and works as existing code expects.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct ConstantsTests {
    private static let all =
        ConstantRow.data + ConstantRow.macOS + ConstantRow.privateNames + ConstantRow.deprecated

    @Test(.cases(140 + 33 + 21 + 2), arguments: all)
    func `each constant has Apple's string`(row: ConstantRow) {
        #expect(row.value == row.expected)
    }

    @Test func `the tables of this test contain each string constant of the module once`() throws {
        #expect(ConstantRow.data.count == 140)
        #expect(ConstantRow.macOS.count == 33)
        #expect(ConstantRow.privateNames.count == 21)
        #expect(ConstantRow.deprecated.count == 2)
        let names = Self.all.map(\.name)
        #expect(Set(names).count == names.count)
        let sources = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/KeychainServices").standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(
            at: sources.appending(path: "Constants"), includingPropertiesForKeys: nil)
        var declared: Set<String> = []
        for file in files + [sources.appending(path: "Legacy/SecKeychain.swift")] {
            let text = try String(contentsOf: file, encoding: .utf8)
            for constant in text.matches(of: /let (kSec\w+): CFString =/) {
                declared.insert(String(constant.1))
            }
        }
        #expect(Set(names) == declared)
    }

    @Test func `a dictionary with string keys can be read with the constants`() {
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrAccount as String: "account",
            kSecReturnData as String: kCFBooleanTrue!,
            kSecReturnAttributes as String: kCFBooleanTrue as Any,
            kSecReturnRef as String: true,
        ]
        let dictionary = query as CFDictionary
        #expect(dictionary[kSecClass] as? String == "genp")
        #expect(dictionary[kSecAttrAccount] as? String == "account")
        #expect(dictionary[kSecReturnData] as? Bool == true)
        #expect(dictionary[kSecReturnAttributes] as? Bool == true)
        #expect(dictionary[kSecReturnRef] as? Bool == true)
        for key in [kSecReturnData, kSecReturnAttributes, kSecReturnRef] {
            #expect(CFGetTypeID(dictionary[key] as CFTypeRef) == CFBooleanGetTypeID())
        }
    }

    @Test func `a literal with constants as keys becomes a dictionary`() {
        let dictionary =
            [
                kSecClass: kSecClassKey,
                kSecAttrKeySizeInBits: 256,
                kSecReturnRef: true,
            ] as CFDictionary
        #expect(dictionary[kSecClass] as? String == "keys")
        #expect(dictionary["bsiz"] as? Int == 256)
        #expect(dictionary["r_Ref"] as? Bool == true)
    }

    @Test func `a dictionary keyed by CFString takes and returns values`() {
        var query: [CFString: Any] = [kSecClass: kSecClassInternetPassword]
        query[kSecAttrAccount] = "account"
        query[kSecMatchLimit] = kSecMatchLimitAll
        #expect(query[kSecAttrAccount] as? String == "account")
        query[kSecAttrAccount] = nil
        let dictionary = query as CFDictionary
        #expect(dictionary.count == 2)
        #expect(dictionary[kSecMatchLimit] as? String == kSecMatchLimitAll as String)
    }

    @Test func `a result can be cast to dictionaries with String keys and with CFString keys`() {
        let result: CFTypeRef? = [kSecAttrAccount: "account"] as CFDictionary
        #expect((result as? [String: Any])?[kSecAttrAccount as String] as? String == "account")
        #expect((result as? [CFString: Any])?[kSecAttrAccount] as? String == "account")
    }

    @Test func `the formats and types of imported items have Apple's numbers`() {
        #expect(SecExternalFormat.formatUnknown.rawValue == 0)
        #expect(SecExternalFormat.formatX509Cert.rawValue == 9)
        #expect(SecExternalFormat.formatPEMSequence.rawValue == 10)
        #expect(SecExternalFormat.formatPKCS12.rawValue == 12)
        #expect(SecExternalFormat.formatSSHv2.rawValue == 14)
        #expect(SecExternalItemType.itemTypePrivateKey.rawValue == 1)
        #expect(SecExternalItemType.itemTypeCertificate.rawValue == 4)
        #expect(SecExternalItemType.itemTypeAggregate.rawValue == 5)
        #expect(SecItemImportExportFlags.pemArmour.rawValue == 1)
        #expect(SecKeyImportExportFlags.noAccessControl.rawValue == 4)
    }

    @Test func `the bits of a file-based keychain's state have Apple's numbers`() {
        #expect(kSecUnlockStateStatus == 1)
        #expect(kSecReadPermStatus == 2)
        #expect(kSecWritePermStatus == 4)
    }
}

#endif
