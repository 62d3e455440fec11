// TSSConnection+Commands: the commands for queries, the storage key, sessions and slots.

#if TPM

import CKeychainTSS2
import KeychainCrypto
import KeychainCore

/// The library's handle of an object or session in the chip.
typealias Reference = UInt32

extension TSSConnection {
    // MARK: Queries

    /// The handles from `first` on that are in use. Handles of transient objects start at
    /// 0x80000000, those of persistent objects at 0x81000000.
    func handles(from first: UInt32, atMost count: UInt32) throws(ResponseFailure) -> [UInt32] {
        try words(of: UInt32(TPM2_CAP_HANDLES), from: first, atMost: count)
    }

    /// The chip's properties from `first` on: their numbers and values.
    func properties(
        from first: UInt32, atMost count: UInt32
    ) throws(ResponseFailure) -> [UInt32: UInt32] {
        let words = try words(of: UInt32(TPM2_CAP_TPM_PROPERTIES), from: first, atMost: count)
        var properties: [UInt32: UInt32] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            properties[words[index]] = words[index + 1]
        }
        return properties
    }

    /// Overwrites the library's receive buffer. The library decrypts a secret in this buffer, where
    /// it remains until the next response. This call replaces the secret with half a kilobyte of
    /// properties.
    func overwriteAnswer() {
        _ = try? words(
            of: UInt32(TPM2_CAP_TPM_PROPERTIES), from: KEYCHAIN_TPM2_PT_MANUFACTURER, atMost: 64)
    }

    private func words(
        of capability: UInt32, from first: UInt32, atMost count: UInt32
    ) throws(ResponseFailure) -> [UInt32] {
        var more: UInt8 = 0
        var data: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
        // SAFETY: the library allocates the result.
        let code = unsafe library.capability(
            context, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, capability, first, count, &more,
            &data)
        try check(code, .capability)
        var reader = ByteReader(
            try unsafe bytes(taking: data, { unsafe library.encodeCapability($0, $1, $2, $3) }))
        // The capability and the number of entries precede the entries.
        guard let _: UInt32 = reader.number(), let _: UInt32 = reader.number() else {
            return []
        }
        var words: [UInt32] = []
        while let word: UInt32 = reader.number() { words.append(word) }
        return words
    }

    // MARK: The storage key

    /// Derives the storage key from the seed of the owner hierarchy. The result is always the same
    /// key, until the chip is cleared.
    func createStorageKey() throws(ResponseFailure) -> Reference {
        var template: TPM2B_PUBLIC = try unsafe structure(PublicArea.template(.storage)) {
            unsafe library.decodePublic($0, $1, $2, $3)
        }
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var object: Reference = ESYS_TR_NONE
        // SAFETY: all pointers are valid during the call. `nil` is passed for results that are not
        // needed.
        let code = unsafe library.createPrimary(
            context, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive,
            &template, &outside, &registers, &object, nil, nil, nil, nil)
        try check(code, .createStorageKey)
        return object
    }

    /// Returns a reference to a persistent object; `nil` if its public area is not that of a
    /// storage key.
    func persistentStorageKey(_ handle: UInt32) throws(ResponseFailure) -> Reference? {
        var object: Reference = ESYS_TR_NONE
        // SAFETY: the reference is written during the call.
        let code = unsafe library.fromPublic(
            context, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &object)
        try check(code, .readStorageKey)
        do {
            if PublicArea(try publicArea(of: object), .storage) != nil { return object }
        } catch {
            close(object)
            throw error
        }
        close(object)
        return nil
    }

    private func publicArea(of object: Reference) throws(ResponseFailure) -> [UInt8] {
        var area: UnsafeMutablePointer<TPM2B_PUBLIC>?
        // SAFETY: the library allocates the result.
        let code = unsafe library.readPublic(
            context, object, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &area, nil, nil)
        try check(code, .readStorageKey)
        return try unsafe bytes(taking: area, { unsafe library.encodePublic($0, $1, $2, $3) })
    }

    /// The name of a storage key, computed from the public area to which the library encrypts the
    /// salt of a session. The name that the chip itself reports is not used.
    func name(ofStorageKey key: Reference) throws(ResponseFailure) -> [UInt8] {
        var buffer: UnsafeMutablePointer<UInt8>?
        var count = 0
        // SAFETY: the library allocates the result and reports its size. The bytes are copied and
        // the result is freed here.
        let code = unsafe library.serialize(context, key, &buffer, &count)
        try check(code, .readStorageKey)
        guard let start = unsafe buffer else {
            throw ResponseFailure(code: Self.wrongSize, command: .readStorageKey)
        }
        defer { unsafe library.free(start) }
        let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
        guard let area = PublicArea(ofStorageKeyAtEndOf: bytes) else {
            throw ResponseFailure(code: Self.wrongSize, command: .readStorageKey)
        }
        return area.name
    }

    // MARK: Sessions and slots

    /// Starts a session whose keys only this process and the chip with the private part of the
    /// storage key can derive. The parameters that the session encrypts are hidden from an attacker
    /// who can read the traffic to the chip.
    func startSession(saltedTo key: Reference) throws(ResponseFailure) -> Reference {
        var writer = ByteWriter()
        writer.number(UInt16(TPM2_ALG_AES))
        writer.number(UInt16(128))
        writer.number(UInt16(TPM2_ALG_CFB))
        var cipher: TPMT_SYM_DEF = try unsafe structure(writer.result) {
            unsafe library.decodeCipher($0, $1, $2, $3)
        }
        var session: Reference = ESYS_TR_NONE
        // SAFETY: the pointers are valid during the call.
        let code = unsafe library.startSession(
            context, key, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil,
            UInt8(TPM2_SE_HMAC), &cipher, UInt16(TPM2_ALG_SHA256), &session)
        try check(code, .startSession)
        return session
    }

    /// Sets which parameters the session encrypts in the next command.
    func encrypt(
        command: Bool, response: Bool, in session: Reference
    ) throws(ResponseFailure) {
        let flags =
            TPMA_SESSION_CONTINUESESSION | (command ? TPMA_SESSION_DECRYPT : 0)
            | (response ? TPMA_SESSION_ENCRYPT : 0)
        // SAFETY: only numbers are passed.
        let code = unsafe library.setAttributes(
            context, session, flags,
            TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT)
        try check(code, .startSession)
    }

    /// Frees the slot of a transient object or session.
    func flush(_ reference: Reference) {
        // SAFETY: only numbers are passed. If this call fails, the object no longer exists or the
        // connection has ended.
        _ = unsafe library.flush(context, reference)
    }

    /// Releases a reference to a persistent object. The object stays in the chip.
    func close(_ reference: Reference) {
        var reference = reference
        // SAFETY: the reference is read during the call.
        _ = unsafe library.closeReference(context, &reference)
    }
}

#endif
