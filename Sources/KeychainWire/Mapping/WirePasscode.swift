// WirePasscode: passcodes on their way into a message and out of it.

import Foundation
import Glibc
import KeychainCrypto

extension Data {
    /// The passcode, in memory that is erased when the last copy of this value is gone.
    init(passcode: SecretBytes) {
        guard passcode.count > 0 else {
            self.init()
            return
        }
        let count = passcode.count
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        // SAFETY: the block has the passcode's size; the data takes it over, and frees it.
        unsafe passcode.withUnsafeBytes { unsafe block.copyMemory(from: $0) }
        guard let base = block.baseAddress else {
            self.init()
            return
        }
        unsafe self.init(
            bytesNoCopy: base, count: count,
            deallocator: .custom { base, count in
                unsafe explicit_bzero(base, count)
                unsafe base.deallocate()
            })
    }
}
