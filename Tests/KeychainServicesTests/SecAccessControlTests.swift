// SecAccessControlTests: which access controls can be created. The numbers in test names are rows
// of section N in Documentation/Cases.md.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct SecAccessControlTests {
    typealias Flags = SecAccessControlCreateFlags

    /// Row N323: flags, and whether the protection class is the only condition.
    static let conditions: [(Flags, Bool)] = [
        ([], true), (.privateKeyUsage, true),
        (.userPresence, false), ([.userPresence, .privateKeyUsage], false),
        (.biometryAny, false), ([.biometryAny, .privateKeyUsage], false),
        (.biometryCurrentSet, false), (.devicePasscode, false), (.companion, false),
        (.applicationPassword, false), ([.applicationPassword, .privateKeyUsage], false),
    ]

    /// Creates an access control. Expects either an access control or an error.
    private func create(
        _ protection: CFTypeRef, _ flags: Flags
    ) -> (control: SecAccessControl?, error: CFError?) {
        var slot: Unmanaged<CFError>?
        let control = unsafe SecAccessControlCreateWithFlags(nil, protection, flags, &slot)
        let error = unsafe slot?.takeRetainedValue()
        #expect((control == nil) == (error != nil))
        return (control, error)
    }

    private func expectRefusal(
        _ protection: CFTypeRef, _ flags: Flags, _ rejection: SecAccessControl.Rejection,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let (control, error) = create(protection, flags)
        #expect(control == nil, sourceLocation: sourceLocation)
        #expect(error?.code == -50, sourceLocation: sourceLocation)
        #expect(error?.domain == NSOSStatusErrorDomain, sourceLocation: sourceLocation)
        #expect(
            error?.localizedDescription == rejection.rawValue, sourceLocation: sourceLocation)
    }

    // In Swift, the parameter can't be NULL. `NSNull` comes closest.
    @Test func `N313: a null or numeric protection class is refused`() {
        expectRefusal(NSNull(), [], .unknownProtection)
        expectRefusal(NSNumber(value: 1), .userPresence, .unknownProtection)
    }

    @Test func `N314: an unknown protection class is refused`() {
        expectRefusal("bogus" as CFString, [], .unknownProtection)
        expectRefusal("" as CFString, [], .unknownProtection)
    }

    @Test(arguments: [
        Flags.biometryAny, .biometryCurrentSet, .devicePasscode, .companion, .or, .and,
    ])
    func `N316: user presence excludes biometry, passcode, companion, OR and AND`(flag: Flags) {
        expectRefusal(kSecAttrAccessibleWhenUnlocked, [.userPresence, flag], .userPresenceNotAlone)
    }

    @Test(arguments: [
        Flags.userPresence, [.userPresence, .applicationPassword],
        [.userPresence, .privateKeyUsage],
        [.userPresence, .applicationPassword, .privateKeyUsage],
    ])
    func `N316: user presence can be combined with an application password and key usage`(
        flags: Flags
    ) {
        #expect(create(kSecAttrAccessibleWhenUnlocked, flags).control?.flags == flags)
    }

    @Test func `N317: the two kinds of biometry exclude each other`() {
        expectRefusal(
            kSecAttrAccessibleWhenUnlocked, [.biometryAny, .biometryCurrentSet],
            .bothKindsOfBiometry)
    }

    @Test func `N319: biometry, passcode and application password can be combined with AND`() {
        let flags: Flags = [.biometryAny, .devicePasscode, .and, .applicationPassword]
        #expect(create(kSecAttrAccessibleWhenUnlocked, flags).control?.flags == flags)
    }

    @Test func `N320: OR and AND exclude each other`() {
        expectRefusal(kSecAttrAccessibleWhenUnlocked, [.or, .and], .orTogetherWithAnd)
        expectRefusal(
            kSecAttrAccessibleWhenUnlocked, [.or, .and, .biometryAny, .devicePasscode],
            .orTogetherWithAnd)
    }

    @Test func `N322: two conditions need neither OR nor AND`() {
        let flags: Flags = [.biometryAny, .devicePasscode]
        #expect(create(kSecAttrAccessibleWhenUnlocked, flags).control?.flags == flags)
    }

    @Test(arguments: conditions)
    func `N323: the protection class is the only condition unless the flags add one`(
        flags: Flags, bound: Bool
    ) throws {
        let control = try #require(create(kSecAttrAccessibleWhenUnlocked, flags).control)
        #expect(control.isBound == bound)
        #expect(control.hasConstraints == !bound)
    }

    @Test(arguments: ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"])
    func `every protection class can be used without flags`(protection: String) throws {
        let control = try #require(create(protection as CFString, []).control)
        #expect(control.protection == protection)
        #expect(control.flags == [])
    }

    // This behavior differs from Apple's function, which ignores unknown flags.
    @Test(arguments: [2, 6, 13, 16, 29, 32, 63])
    func `an unknown flag is refused`(bit: Int) {
        expectRefusal(kSecAttrAccessibleWhenUnlocked, Flags(rawValue: 1 << bit), .unknownFlag)
    }

    @Test func `an invalid access control is refused even without an error pointer`() {
        #expect(SecAccessControlCreateWithFlags(nil, "bogus" as CFString, [], nil) == nil)
    }

    @Test func `flags have Apple's bit values`() {
        let bits: [(Flags, CFOptionFlags)] = [
            (.userPresence, 1 << 0), (.biometryAny, 1 << 1), (.touchIDAny, 1 << 1),
            (.biometryCurrentSet, 1 << 3), (.touchIDCurrentSet, 1 << 3),
            (.devicePasscode, 1 << 4), (.watch, 1 << 5), (.companion, 1 << 5), (.or, 1 << 14),
            (.and, 1 << 15), (.privateKeyUsage, 1 << 30), (.applicationPassword, 1 << 31),
        ]
        for (flag, bit) in bits {
            #expect(flag.rawValue == bit)
        }
    }

    @Test func `access controls are compared by content`() throws {
        let protection = kSecAttrAccessibleWhenUnlocked
        let first = try #require(create(protection, .userPresence).control)
        let twin = try #require(create(protection, .userPresence).control)
        let otherFlags = try #require(create(protection, .devicePasscode).control)
        let otherClass = try #require(
            create(kSecAttrAccessibleAfterFirstUnlock, .userPresence).control)
        #expect(first == twin)
        #expect(first.hash == twin.hash)
        #expect(first != otherFlags)
        #expect(first != otherClass)
        #expect(!first.isEqual("ak"))
    }

    @Test func `an access control keeps its identity and type in a dictionary`() throws {
        let control = try #require(create(kSecAttrAccessibleWhenUnlocked, []).control)
        let query: [String: Any] = [kSecAttrAccessControl as String: control]
        let value = (query as CFDictionary)[kSecAttrAccessControl] as CFTypeRef
        // This comparison is outside the macro, because the compiler (6.3.1) crashes on the
        // comparison inside the macro.
        let isSame = value === control
        #expect(isSame)
        #expect(CFGetTypeID(value) == SecAccessControlGetTypeID())
    }
}

#endif
