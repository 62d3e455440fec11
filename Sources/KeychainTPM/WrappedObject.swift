// WrappedObject: a key or some bytes as a chip hands them out to be kept elsewhere.
//   (1) TPM2B_PUBLIC ‖ TPM2B_PRIVATE, as the TPM 2.0 Library encodes them. The private part is
//       encrypted and authenticated by the chip, together with the name of the public part.
//   (2) What is read encodes again to the same bytes.

#if TPM

import FoundationEssentials
import KeychainCore

struct WrappedObject: Hashable, Sendable {
    let publicArea: PublicArea
    /// TPM2B_PRIVATE.
    let privateArea: [UInt8]

    var bytes: Data { Data(publicArea.bytes + privateArea) }

    init(publicArea: PublicArea, privateArea: [UInt8]) {
        self.publicArea = publicArea
        self.privateArea = privateArea
    }

    /// - Throws: `decode` for what this chip's kind never made.
    init(_ bytes: Data, _ kind: ObjectKind) throws(KeychainFailure) {
        var reader = ByteReader(Array(bytes))
        guard let first = reader.sized(), let area = PublicArea(first.sized, kind),
            let second = reader.sized(), !second.isEmpty, reader.isAtEnd
        else {
            throw KeychainFailure(
                .decode, "What a TPM is to use is damaged: it isn't what a TPM made.",
                cause: .damage)
        }
        self.init(publicArea: area, privateArea: second.sized)
    }
}

#endif
