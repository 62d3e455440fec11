// TSSLibrary: the functions of tpm2-tss, loaded when a chip is first used.
//   (1) No other file looks up a symbol of tpm2-tss.
//   (2) The libraries are never closed, so the addresses stay valid.

#if TPM

import CKeychainTSS2
import Glibc
import KeychainCore

/// `@unchecked Sendable`: the addresses of the functions never change, so no lock is needed.
@safe
struct TSSLibrary: @unchecked Sendable {
    let openWay: Tss2_TctiLdr_Initialize_Function
    let closeWay: Tss2_TctiLdr_Finalize_Function
    let decode: Tss2_RC_Decode_Function
    let initialize: Esys_Initialize_Function
    let finalize: Esys_Finalize_Function
    let free: Esys_Free_Function
    let fromPublic: Esys_TR_FromTPMPublic_Function
    let serialize: Esys_TR_Serialize_Function
    let closeReference: Esys_TR_Close_Function
    let setAuthorization: Esys_TR_SetAuth_Function
    let setAttributes: Esys_TRSess_SetAttributes_Function
    let startSession: Esys_StartAuthSession_Function
    let flush: Esys_FlushContext_Function
    let capability: Esys_GetCapability_Function
    let readPublic: Esys_ReadPublic_Function
    let createPrimary: Esys_CreatePrimary_Function
    let create: Esys_Create_Function
    let load: Esys_Load_Function
    let sign: Esys_Sign_Function
    let multiply: Esys_ECDH_ZGen_Function
    let unseal: Esys_Unseal_Function
    let encodePublic: Tss2_MU_TPM2B_PUBLIC_Marshal_Function
    let decodePublic: Tss2_MU_TPM2B_PUBLIC_Unmarshal_Function
    let encodePrivate: Tss2_MU_TPM2B_PRIVATE_Marshal_Function
    let decodePrivate: Tss2_MU_TPM2B_PRIVATE_Unmarshal_Function
    let decodeDigest: Tss2_MU_TPM2B_DIGEST_Unmarshal_Function
    let decodeSensitive: Tss2_MU_TPM2B_SENSITIVE_CREATE_Unmarshal_Function
    let encodeSensitive: Tss2_MU_TPM2B_SENSITIVE_DATA_Marshal_Function
    let encodePoint: Tss2_MU_TPM2B_ECC_POINT_Marshal_Function
    let decodePoint: Tss2_MU_TPM2B_ECC_POINT_Unmarshal_Function
    let decodeCipher: Tss2_MU_TPMT_SYM_DEF_Unmarshal_Function
    let decodeScheme: Tss2_MU_TPMT_SIG_SCHEME_Unmarshal_Function
    let encodeSignature: Tss2_MU_TPMT_SIGNATURE_Marshal_Function
    let encodeCapability: Tss2_MU_TPMS_CAPABILITY_DATA_Marshal_Function

    /// The libraries of this system, or the failure that says which one can't be loaded or is too
    /// old.
    static let ofThisSystem = Result { () throws(KeychainFailure) in try TSSLibrary() }

    private init() throws(KeychainFailure) {
        // SAFETY: each name is looked up in the library whose header declares the function, and
        // CKeychainTSS2 derives the type of the pointer from that declaration.
        let ways = try OpenLibrary("libtss2-tctildr.so.0")
        unsafe openWay = try ways.function("Tss2_TctiLdr_Initialize")
        unsafe closeWay = try ways.function("Tss2_TctiLdr_Finalize")
        let texts = try OpenLibrary("libtss2-rc.so.0")
        unsafe decode = try texts.function("Tss2_RC_Decode")
        let commands = try OpenLibrary("libtss2-esys.so.0")
        unsafe initialize = try commands.function("Esys_Initialize")
        unsafe finalize = try commands.function("Esys_Finalize")
        unsafe free = try commands.function("Esys_Free")
        unsafe fromPublic = try commands.function("Esys_TR_FromTPMPublic")
        unsafe serialize = try commands.function("Esys_TR_Serialize")
        unsafe closeReference = try commands.function("Esys_TR_Close")
        unsafe setAuthorization = try commands.function("Esys_TR_SetAuth")
        unsafe setAttributes = try commands.function("Esys_TRSess_SetAttributes")
        unsafe startSession = try commands.function("Esys_StartAuthSession")
        unsafe flush = try commands.function("Esys_FlushContext")
        unsafe capability = try commands.function("Esys_GetCapability")
        unsafe readPublic = try commands.function("Esys_ReadPublic")
        unsafe createPrimary = try commands.function("Esys_CreatePrimary")
        unsafe create = try commands.function("Esys_Create")
        unsafe load = try commands.function("Esys_Load")
        unsafe sign = try commands.function("Esys_Sign")
        unsafe multiply = try commands.function("Esys_ECDH_ZGen")
        unsafe unseal = try commands.function("Esys_Unseal")
        let codes = try OpenLibrary("libtss2-mu.so.0")
        unsafe encodePublic = try codes.function("Tss2_MU_TPM2B_PUBLIC_Marshal")
        unsafe decodePublic = try codes.function("Tss2_MU_TPM2B_PUBLIC_Unmarshal")
        unsafe encodePrivate = try codes.function("Tss2_MU_TPM2B_PRIVATE_Marshal")
        unsafe decodePrivate = try codes.function("Tss2_MU_TPM2B_PRIVATE_Unmarshal")
        unsafe decodeDigest = try codes.function("Tss2_MU_TPM2B_DIGEST_Unmarshal")
        unsafe decodeSensitive = try codes.function(
            "Tss2_MU_TPM2B_SENSITIVE_CREATE_Unmarshal")
        unsafe encodeSensitive = try codes.function("Tss2_MU_TPM2B_SENSITIVE_DATA_Marshal")
        unsafe encodePoint = try codes.function("Tss2_MU_TPM2B_ECC_POINT_Marshal")
        unsafe decodePoint = try codes.function("Tss2_MU_TPM2B_ECC_POINT_Unmarshal")
        unsafe decodeCipher = try codes.function("Tss2_MU_TPMT_SYM_DEF_Unmarshal")
        unsafe decodeScheme = try codes.function("Tss2_MU_TPMT_SIG_SCHEME_Unmarshal")
        unsafe encodeSignature = try codes.function("Tss2_MU_TPMT_SIGNATURE_Marshal")
        unsafe encodeCapability = try codes.function(
            "Tss2_MU_TPMS_CAPABILITY_DATA_Marshal")
    }

    /// The library's description of a response code.
    func text(_ code: UInt32) -> String {
        // SAFETY: the string is null-terminated and valid until this thread's next call.
        guard let text = unsafe decode(code) else { return "code \(code)" }
        return unsafe String(cString: text)
    }
}

/// A shared library that is never closed.
@safe
struct OpenLibrary {
    private let name: String
    private let handle: UnsafeMutableRawPointer

    /// - Throws: `unimplemented` if the library can't be loaded. Usually it is missing, because the
    ///   machine has no chip.
    init(_ name: String) throws(KeychainFailure) {
        // SAFETY: the name is a constant in this file. The error message is null-terminated and
        // valid until this thread's next call.
        guard let handle = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let text = unsafe dlerror().map { unsafe String(cString: $0) } ?? name
            throw KeychainFailure(
                .unimplemented,
                "A library of tpm2-tss, which is needed to access the TPM, can't be loaded: "
                    + "\(text). If it is missing, on Debian: `apt install libtss2-esys-3.0.2-0 "
                    + "libtss2-rc0 libtss2-tctildr0 libtss2-tcti-device0`.")
        }
        unsafe self.handle = handle
        self.name = name
    }

    /// Looks up a function. `Function` must be the type of the function of this name.
    @unsafe
    func function<Function>(_ symbol: String) throws(KeychainFailure) -> Function {
        // SAFETY: the library stays open. The caller guarantees that the type is right.
        guard let address = unsafe dlsym(handle, symbol) else {
            throw KeychainFailure(
                .unimplemented,
                "The library \(name) of tpm2-tss is too old: it lacks \(symbol).")
        }
        return unsafe unsafeBitCast(address, to: Function.self)
    }
}

#endif
