// CoreFoundationTests: the Core Foundation names behave as on Apple's platforms.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct CoreFoundationTests {
    @Test func `each class has a distinct type identifier`() {
        let identified: [(CFTypeRef?, CFTypeID)] = [
            ("text" as CFTypeRef, CFStringGetTypeID()),
            (NSMutableString(string: "text"), CFStringGetTypeID()),
            (kSecClass, CFStringGetTypeID()),
            (Data([1]) as CFTypeRef, CFDataGetTypeID()),
            (NSMutableData(), CFDataGetTypeID()),
            (["key": 1] as CFTypeRef, CFDictionaryGetTypeID()),
            (NSMutableDictionary(), CFDictionaryGetTypeID()),
            ([1, 2] as CFTypeRef, CFArrayGetTypeID()),
            (Set([1]) as CFTypeRef, CFSetGetTypeID()),
            (Date(timeIntervalSince1970: 0) as CFTypeRef, CFDateGetTypeID()),
            (NSError(domain: "domain", code: 1), CFErrorGetTypeID()),
            (NSNull(), CFNullGetTypeID()),
            (kCFAllocatorNull, CFAllocatorGetTypeID()),
            (nil, 0),
            (NSUUID(), 1),
        ]
        for (object, expected) in identified {
            #expect(CFGetTypeID(object) == expected, "\(String(describing: object))")
        }
        #expect(Set(identified.map(\.1)).count == 11)
    }

    @Test func `booleans of any origin are recognized as booleans`() throws {
        let json = try JSONSerialization.jsonObject(with: Data("[true, false, 1, 0]".utf8))
        let fromJSON = try #require(json as? NSArray)
        let archive = try PropertyListSerialization.data(
            fromPropertyList: [true, 1], format: .binary, options: 0)
        let list = unsafe try PropertyListSerialization.propertyList(from: archive, format: nil)
        let fromList = try #require(list as? NSArray)
        let copy = try #require((NSNumber(value: true).copy()) as? NSNumber)
        let booleans: [CFTypeRef] = [
            kCFBooleanTrue, kCFBooleanFalse, true as CFTypeRef, false as CFTypeRef,
            NSNumber(value: true), NSNumber(booleanLiteral: false), copy,
            fromJSON[0] as CFTypeRef, fromJSON[1] as CFTypeRef, fromList[0] as CFTypeRef,
            (["key": true] as NSDictionary)["key"] as CFTypeRef,
        ]
        for boolean in booleans {
            #expect(CFGetTypeID(boolean) == CFBooleanGetTypeID())
        }
        let numbers: [CFTypeRef] = [
            1 as CFTypeRef, 0 as CFTypeRef, NSNumber(value: Int8(1)), NSNumber(value: UInt8(0)),
            NSNumber(value: 1.0), NSNumber(value: Int64.max), NSDecimalNumber(value: 1),
            fromJSON[2] as CFTypeRef, fromJSON[3] as CFTypeRef, fromList[1] as CFTypeRef,
        ]
        for number in numbers {
            #expect(CFGetTypeID(number) == CFNumberGetTypeID())
        }
    }

    @Test func `an error keeps its domain, code and entries with string keys`() throws {
        let made = CFErrorCreate(
            kCFAllocatorDefault, kCFErrorDomainOSStatus, -50,
            [NSLocalizedDescriptionKey: "text", 7: "dropped"] as NSDictionary)
        let error = try #require(made)
        #expect(CFErrorGetCode(error) == -50)
        #expect(CFErrorGetDomain(error) as String == NSOSStatusErrorDomain)
        let entries = CFErrorCopyUserInfo(error) as? [String: String]
        #expect(entries == [NSLocalizedDescriptionKey: "text"])
        #expect(CFErrorCopyDescription(error) as String == "text")
        #expect(CFErrorCreate(nil, "domain" as CFErrorDomain, 1, nil)?.userInfo.isEmpty == true)
    }

    @Test func `an error without a domain isn't created, and a nil error has no properties`() {
        #expect(CFErrorCreate(nil, nil, 1, nil) == nil)
        #expect(CFErrorGetCode(nil) == 0)
        #expect(CFErrorGetDomain(nil) == nil)
        #expect(CFErrorCopyUserInfo(nil) == nil)
    }

    // Data stores up to 14 bytes inline, so 14 and 15 bytes are stored differently.
    @Test(arguments: [1, 14, 15, 16, 5000])
    func `the bytes of a data object can be read through its pointer`(count: Int) throws {
        let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let buffer = data as CFData
        #expect(CFDataGetLength(buffer) == count)
        let pointer = unsafe try #require(CFDataGetBytePtr(buffer))
        let read = unsafe Data(bytes: pointer, count: CFDataGetLength(buffer))
        withExtendedLifetime(buffer) { #expect(read == data) }
    }

    @Test func `a nil data object has the length 0 and no bytes`() {
        #expect(CFDataGetLength(nil) == 0)
        #expect(unsafe CFDataGetBytePtr(nil) == nil)
    }

    @Test func `a data object can be created without copying the caller's memory`() throws {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 4)
        defer { unsafe memory.deallocate() }
        unsafe memory.initialize(repeating: 7, count: 4)
        do {
            let made = unsafe CFDataCreateWithBytesNoCopy(
                kCFAllocatorDefault, memory, 4, kCFAllocatorNull)
            let buffer = try #require(made)
            unsafe memory[0] = 9
            #expect(buffer as Data == Data([9, 7, 7, 7]))
        }
        #expect(unsafe memory[3] == 7)
    }

    @Test func `a data object can take ownership of memory from malloc`() throws {
        let memory = unsafe try #require(calloc(4, 1)?.assumingMemoryBound(to: UInt8.self))
        let made = unsafe CFDataCreateWithBytesNoCopy(nil, memory, 4, kCFAllocatorDefault)
        #expect(try #require(made) as Data == Data(count: 4))
    }

    @Test func `a data object isn't created from a negative length, or from nil with a length`() {
        var byte: UInt8 = 1
        #expect(unsafe CFDataCreateWithBytesNoCopy(nil, &byte, -1, kCFAllocatorNull) == nil)
        #expect(CFDataCreateWithBytesNoCopy(nil, nil, 1, kCFAllocatorNull) == nil)
        #expect(CFDataCreateWithBytesNoCopy(nil, nil, 0, kCFAllocatorNull)?.length == 0)
    }

    @Test func `the default allocator is nil and the null allocator is not`() {
        #expect(kCFAllocatorDefault == nil)
        #expect(kCFAllocatorNull != nil)
    }

    @Test func `the names of bundle keys and error domains are Apple's`() {
        #expect(kCFBundleIdentifierKey as String == "CFBundleIdentifier")
        #expect(kCFErrorDomainOSStatus as String == "NSOSStatusErrorDomain")
    }
}

#endif
