// TSSConnection+Objects: the commands that create and use keys and sealed bytes.

#if TPM

import CKeychainTSS2
import KeychainCrypto
import KeychainCore

extension TSSConnection {
    /// Creates an object under the storage key and returns its TPM2B_PUBLIC and TPM2B_PRIVATE. Each
    /// use of the object requires `authorization`, which can be empty. `content` is the bytes to
    /// seal; it is empty for a key.
    func create(
        _ kind: ObjectKind, authorization: SecretBytes, content: SecretBytes,
        under parent: Reference, _ session: Reference
    ) throws(ResponseFailure) -> (publicArea: [UInt8], privateArea: [UInt8]) {
        var template: TPM2B_PUBLIC = try unsafe structure(PublicArea.template(kind)) {
            unsafe library.decodePublic($0, $1, $2, $3)
        }
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var publicArea: UnsafeMutablePointer<TPM2B_PUBLIC>?
        var privateArea: UnsafeMutablePointer<TPM2B_PRIVATE>?
        try encrypt(command: true, response: true, in: session)
        let sensitive = authorization.sized.appending(content.sized).sized
        // SAFETY: all pointers are valid during the call. The library allocates both results.
        let code = try unsafe withStructure(
            sensitive, { unsafe library.decodeSensitive($0, $1, $2, $3) }
        ) { sensitive in
            unsafe library.create(
                context, parent, session, ESYS_TR_NONE, ESYS_TR_NONE, sensitive, &template,
                &outside, &registers, &privateArea, &publicArea, nil, nil, nil)
        }
        try check(code, .create)
        // Both results are encoded before either error is thrown, so that both are freed.
        let areas = (
            Result { () throws(ResponseFailure) in
                try unsafe bytes(
                    taking: publicArea, { unsafe library.encodePublic($0, $1, $2, $3) })
            },
            Result { () throws(ResponseFailure) in
                try unsafe bytes(
                    taking: privateArea, { unsafe library.encodePrivate($0, $1, $2, $3) })
            }
        )
        return (try areas.0.get(), try areas.1.get())
    }

    /// Loads an object into the chip's memory, and returns the library's reference to the object.
    func load(
        _ object: WrappedObject, under parent: Reference, _ session: Reference
    ) throws(ResponseFailure) -> Reference {
        var publicArea: TPM2B_PUBLIC = try unsafe structure(object.publicArea.bytes) {
            unsafe library.decodePublic($0, $1, $2, $3)
        }
        var privateArea: TPM2B_PRIVATE = try unsafe structure(object.privateArea) {
            unsafe library.decodePrivate($0, $1, $2, $3)
        }
        try encrypt(command: true, response: true, in: session)
        var reference: Reference = ESYS_TR_NONE
        // SAFETY: the pointers are valid during the call.
        let code = unsafe library.load(
            context, parent, session, ESYS_TR_NONE, ESYS_TR_NONE, &privateArea, &publicArea,
            &reference)
        try check(code, .load)
        return reference
    }

    /// Sets the authorization value that the library proves to the chip when the object is used.
    func authorize(
        _ object: Reference, _ authorization: SecretBytes
    ) throws(ResponseFailure) {
        // SAFETY: the structure is valid during the call, which copies it.
        let code = try unsafe withStructure(
            authorization.sized, { unsafe library.decodeDigest($0, $1, $2, $3) }
        ) { value in unsafe library.setAuthorization(context, object, value) }
        try check(code, .authorize)
    }

    /// - Returns: r ‖ s, 32 bytes each.
    func sign(
        _ digest: [UInt8], with key: Reference, _ session: Reference
    ) throws(ResponseFailure) -> [UInt8] {
        var digest: TPM2B_DIGEST = try unsafe structure(digest.sized) {
            unsafe library.decodeDigest($0, $1, $2, $3)
        }
        let ecdsa = UInt16(TPM2_ALG_ECDSA).bytes + UInt16(TPM2_ALG_SHA256).bytes
        var scheme: TPMT_SIG_SCHEME = try unsafe structure(ecdsa) {
            unsafe library.decodeScheme($0, $1, $2, $3)
        }
        // The key isn't restricted, so it signs any digest, without a ticket from the chip.
        var ticket = TPMT_TK_HASHCHECK(
            tag: UInt16(TPM2_ST_HASHCHECK), hierarchy: UInt32(TPM2_RH_NULL),
            digest: TPM2B_DIGEST())
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        try encrypt(command: true, response: false, in: session)
        // SAFETY: the pointers are valid during the call. The library allocates the signature.
        let code = unsafe library.sign(
            context, key, session, ESYS_TR_NONE, ESYS_TR_NONE, &digest, &scheme, &ticket,
            &signature)
        try check(code, .sign)
        var reader = ByteReader(
            try unsafe bytes(
                taking: signature, { unsafe library.encodeSignature($0, $1, $2, $3) }))
        // The algorithm and the hash precede r and s.
        guard reader.bytes(4) == ecdsa, let r = reader.sized()?.padded(to: 32),
            let s = reader.sized()?.padded(to: 32), reader.isAtEnd
        else { throw ResponseFailure(code: Self.wrongSize, command: .sign) }
        return r + s
    }

    /// Multiplies a point by the key and returns the x coordinate of the product, 32 bytes.
    func multiply(
        _ point: [UInt8], by key: Reference, _ session: Reference
    ) throws(ResponseFailure) -> SecretBytes {
        let coordinates = Array(point.prefix(32)).sized + Array(point.dropFirst(32)).sized
        var point: TPM2B_ECC_POINT = try unsafe structure(coordinates.sized) {
            unsafe library.decodePoint($0, $1, $2, $3)
        }
        var product: UnsafeMutablePointer<TPM2B_ECC_POINT>?
        try encrypt(command: true, response: true, in: session)
        // SAFETY: the pointers are valid during the call. The library allocates the product.
        let code = unsafe library.multiply(
            context, key, session, ESYS_TR_NONE, ESYS_TR_NONE, &point, &product)
        try check(code, .agree)
        let bytes = try unsafe secretBytes(
            taking: product, { unsafe library.encodePoint($0, $1, $2, $3) })
        // The encoding is the size of the whole point, the size of x, x, and so on.
        guard let x = bytes.sizedField(at: 2), x.count <= 32 else {
            throw ResponseFailure(code: Self.wrongSize, command: .agree)
        }
        return SecretBytes(copying: [UInt8](repeating: 0, count: 32 - x.count)).appending(x)
    }

    func unseal(
        _ object: Reference, _ session: Reference
    ) throws(ResponseFailure) -> SecretBytes {
        var data: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
        try encrypt(command: false, response: true, in: session)
        // SAFETY: the library allocates the result.
        let code = unsafe library.unseal(
            context, object, session, ESYS_TR_NONE, ESYS_TR_NONE, &data)
        try check(code, .unseal)
        let bytes = try unsafe secretBytes(
            taking: data, { unsafe library.encodeSensitive($0, $1, $2, $3) })
        guard let content = bytes.sizedField(at: 0) else {
            throw ResponseFailure(code: Self.wrongSize, command: .unseal)
        }
        return content
    }
}

extension SecretBytes {
    /// The bytes, preceded by their size in two bytes. The size must be below 65536.
    var sized: SecretBytes {
        SecretBytes(copying: UInt16(count).bytes).appending(self)
    }

    /// The content of the field at `offset`, which starts with the content's size in two bytes;
    /// `nil` if the bytes end before the field does.
    func sizedField(at offset: Int) -> SecretBytes? {
        guard offset + 2 <= count else { return nil }
        let size = slice(offset..<offset + 2).plainBytes
        let end = offset + 2 + (Int(size[0]) << 8 | Int(size[1]))
        return end <= count ? slice(offset + 2..<end) : nil
    }
}

#endif
