// MemoryFunctionTests: erasing and comparing secrets.

#if canImport(Glibc) || canImport(Musl)

import Foundation
import KeychainServices
import Testing

@Suite struct MemoryFunctionTests {
    /// ISO C 11, K.3.7.4.1, states how many bytes are filled and when the result isn't 0.
    @Test(arguments: [
        (smax: 4, byte: 0, count: 4, filled: 4, answer: 0),
        (smax: 4, byte: 0xA5, count: 4, filled: 4, answer: 0),
        (smax: 4, byte: 0x1FF, count: 2, filled: 2, answer: 0),
        (smax: 4, byte: 7, count: 0, filled: 0, answer: 0),
        (smax: 0, byte: 7, count: 0, filled: 0, answer: 0),
        (smax: 3, byte: 7, count: 4, filled: 3, answer: EOVERFLOW),
        (smax: 3, byte: 7, count: -1, filled: 3, answer: EOVERFLOW),
        (smax: -1, byte: 7, count: 1, filled: 0, answer: E2BIG),
    ])
    func `memset_s fills no more than the size of the memory`(
        smax: Int, byte: Int32, count: Int, filled: Int, answer: Int32
    ) {
        var bytes = [UInt8](repeating: 0x55, count: 5)
        // SAFETY: `smax` is at most the size of the array, or negative. The function refuses a
        // negative `smax`.
        #expect(unsafe memset_s(&bytes, smax, byte, count) == answer)
        let expected =
            [UInt8](repeating: UInt8(truncatingIfNeeded: byte), count: filled)
            + [UInt8](repeating: 0x55, count: 5 - filled)
        #expect(bytes == expected)
    }

    @Test func `memset_s refuses a null pointer`() {
        #expect(memset_s(nil, 4, 0, 4) == EINVAL)
    }

    @Test func `two secrets are equal only if all their bytes are equal`() {
        let secret = (0..<64).map { UInt8($0) }
        // SAFETY: no length exceeds the size of the arrays. With a negative length or a null
        // pointer, the function reads nothing.
        unsafe #expect(timingsafe_bcmp(secret, secret, secret.count) == 0)
        for index in secret.indices {
            for bit in 0..<8 {
                var other = secret
                other[index] ^= 1 << bit
                unsafe #expect(timingsafe_bcmp(secret, other, secret.count) != 0)
                unsafe #expect(timingsafe_bcmp(secret, other, index) == 0)
            }
        }
        #expect(timingsafe_bcmp(nil, nil, 0) == 0)
        unsafe #expect(timingsafe_bcmp(nil, secret, 1) != 0)
        unsafe #expect(timingsafe_bcmp(secret, secret, -1) != 0)
    }
}

#endif
