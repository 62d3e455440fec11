// MemoryTests: looks through this process's whole memory for secrets of the chip that should be gone.

#if TPM

import Crypto
import Foundation
import KeychainCrypto
import KeychainCore
@testable import KeychainTPM
import TestPrograms
import Testing

/// One after the other: a search finds what another one has read.
@Suite(.serialized) struct `Secrets of a chip in memory` {
    private let authorization = SecretBytes.random(byteCount: 32)

    @Test func `a shared secret is nowhere but with the caller`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let other = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        let shared = try module.sharedSecret(
            of: key.wrapped, with: other, authorization: authorization)
        #expect(try Needle(shared).occurrenceCount() == 1)
    }

    /// Sealing is another process's doing here, as it mostly is.
    @Test func `unsealed bytes are nowhere but with the caller`() throws {
        let chip = try SimulatedChip()
        let sealed = try {
            let module = chip.module()
            return try module.seal(.random(byteCount: 32))
        }()
        let module = chip.module()
        _ = try module.makeKey(authorization: authorization)
        let secret = try module.unseal(sealed)
        #expect(try Needle(secret).occurrenceCount() == 1)
    }
}

#endif
