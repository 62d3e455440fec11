// SecRandomTests: SecRandomCopyBytes fills exactly the requested bytes and refuses invalid
// parameters.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct SecRandomTests {
    @Test func `all bytes of a large request are filled, and the bytes after them are unchanged`() {
        let count = 1000
        let guardCount = 24
        var bytes = [UInt8](repeating: 0, count: count + guardCount)
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, count, &bytes) == errSecSuccess)
        for start in stride(from: 0, to: count, by: 100) {
            #expect(bytes[start..<(start + 100)].contains { $0 != 0 })
        }
        #expect(bytes[count...].allSatisfy { $0 == 0 })
    }

    @Test func `two requests give different bytes`() {
        var first = [UInt8](repeating: 0, count: 32)
        var second = first
        #expect(unsafe SecRandomCopyBytes(nil, first.count, &first) == errSecSuccess)
        #expect(unsafe SecRandomCopyBytes(nil, second.count, &second) == errSecSuccess)
        #expect(first != second)
    }

    @Test func `a request for zero bytes succeeds`() {
        var byte: UInt8 = 7
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, 0, &byte) == errSecSuccess)
        #expect(byte == 7)
    }

    @Test func `a negative count or an unknown generator is refused`() {
        var byte: UInt8 = 7
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, -1, &byte) == errSecParam)
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, .min, &byte) == errSecParam)
        #expect(unsafe SecRandomCopyBytes(OpaquePointer(bitPattern: 1), 1, &byte) == errSecParam)
        #expect(byte == 7)
    }
}

#endif
