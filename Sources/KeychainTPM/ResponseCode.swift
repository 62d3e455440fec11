// ResponseCode: the response codes of a chip and of the libraries and drivers in front of it, and
// what they mean to a caller. The numbers and layers of the codes are defined in TCG TSS 2.0
// Overview, section 2.4, and TPM 2.0 Library, part 2, 6.6.

#if TPM

import CKeychainTSS2
import KeychainCore

/// The response code of a failed command, and the command.
struct ResponseFailure: Error, Hashable {
    enum Command: String, CaseIterable {
        case connect, capability, readStorageKey, createStorageKey, compareStorageKey
        case startSession, create, load
        case authorize, sign, agree, unseal, encode
    }

    let code: UInt32
    let command: Command

    /// The meaning of a failure, which decides how it is handled.
    enum Meaning: Hashable, CaseIterable {
        /// The connection to the chip broke, or can't be opened. A new connection may work.
        case broken
        /// The chip is busy, or other programs occupy its slots. A later attempt can succeed.
        case busy
        /// The chip is locked after too many wrong passwords. Wrong authorization values of the
        /// keychain's keys don't count.
        case lockedOut
        /// The chip is not the expected one.
        case otherChip
        /// The object was not created by this chip, or it is damaged.
        case foreign
        /// The bytes of the object are damaged.
        case damaged
        /// The authorization value is not that of the object.
        case unauthorized
        /// The owner of the chip has set a password for its use.
        case ownerPassword
        /// The public key of the other party to a key agreement is invalid.
        case badPoint
        /// Any other failure.
        case other
    }

    /// Whether the code is from the chip, or from a resource manager, which uses the chip's codes,
    /// and not from other software between this process and the chip.
    private var isOfChip: Bool {
        let layer = code & KEYCHAIN_TSS2_RC_LAYER_MASK
        return [
            KEYCHAIN_TSS2_TPM_RC_LAYER, KEYCHAIN_TSS2_RESMGR_RC_LAYER,
            KEYCHAIN_TSS2_RESMGR_TPM_RC_LAYER,
        ].contains(layer)
    }

    var meaning: Meaning {
        if command == .compareStorageKey { return .otherChip }
        guard isOfChip else {
            if code & KEYCHAIN_TSS2_RC_LAYER_MASK == KEYCHAIN_TSS2_TCTI_RC_LAYER {
                return .broken
            }
            // The step `encode` has the TSS library convert data of an object. The data passed this
            // module's own check, but the library rejects them.
            return command == .encode ? .damaged : .other
        }
        let number = code & ~KEYCHAIN_TSS2_RC_LAYER_MASK
        return number & TPM2_RC_FMT1 != 0
            ? meaning(ofFormatOne: number) : meaning(ofFormatZero: number)
    }

    private func meaning(ofFormatOne number: UInt32) -> Meaning {
        switch (number & 0xBF, command) {
        case (KEYCHAIN_TPM2_RC_INTEGRITY, .load): .foreign
        case (KEYCHAIN_TPM2_RC_AUTH_FAIL, .sign), (KEYCHAIN_TPM2_RC_BAD_AUTH, .sign),
            (KEYCHAIN_TPM2_RC_AUTH_FAIL, .agree), (KEYCHAIN_TPM2_RC_BAD_AUTH, .agree),
            (KEYCHAIN_TPM2_RC_AUTH_FAIL, .unseal), (KEYCHAIN_TPM2_RC_BAD_AUTH, .unseal):
            .unauthorized
        case (KEYCHAIN_TPM2_RC_AUTH_FAIL, _), (KEYCHAIN_TPM2_RC_BAD_AUTH, _): .ownerPassword
        // Both parameters of a load are parts of the object.
        case (_, .load) where number & TPM2_RC_P != 0: .damaged
        case (_, .agree) where number & TPM2_RC_P != 0: .badPoint
        default: .other
        }
    }

    private func meaning(ofFormatZero number: UInt32) -> Meaning {
        switch number {
        case KEYCHAIN_TPM2_RC_OBJECT_MEMORY, KEYCHAIN_TPM2_RC_SESSION_MEMORY,
            KEYCHAIN_TPM2_RC_MEMORY, KEYCHAIN_TPM2_RC_SESSION_HANDLES,
            KEYCHAIN_TPM2_RC_OBJECT_HANDLES, KEYCHAIN_TPM2_RC_CONTEXT_GAP,
            KEYCHAIN_TPM2_RC_YIELDED, KEYCHAIN_TPM2_RC_CANCELED, KEYCHAIN_TPM2_RC_TESTING,
            KEYCHAIN_TPM2_RC_NV_RATE, KEYCHAIN_TPM2_RC_RETRY,
            // Another program freed the slots of this process, or the chip was restarted.
            KEYCHAIN_TPM2_RC_REFERENCE_H0...KEYCHAIN_TPM2_RC_REFERENCE_S6:
            .busy
        case KEYCHAIN_TPM2_RC_LOCKOUT: .lockedOut
        case KEYCHAIN_TPM2_RC_SENSITIVE where command == .load: .damaged
        case KEYCHAIN_TPM2_RC_NO_RESULT where command == .agree: .badPoint
        default: .other
        }
    }
}

extension KeychainFailure {
    /// `text` is the library's description of the code.
    init(_ failure: ResponseFailure, text: String) {
        self =
            switch failure.meaning {
            case .otherChip:
                KeychainFailure(
                    .decode,
                    "This is not the TPM that this keychain was first used with: its storage key "
                        + "has a different name. The TPM was cleared or replaced, the keychain "
                        + "comes from another machine, or something intercepts the communication "
                        + "with the TPM. No secret was sent to it.",
                    cause: .otherMachine)
            case .foreign:
                KeychainFailure(
                    .decode,
                    "The TPM did not create this key, or was cleared since then, or the key's "
                        + "data is damaged. Only the TPM that created a key can use it.",
                    cause: .damage)
            case .damaged:
                KeychainFailure(
                    .decode, "The data for the TPM is damaged (\(text)).", cause: .damage)
            case .unauthorized:
                KeychainFailure(
                    .decode,
                    "The authorization value is not the one that the key was created with: the "
                        + "stored data of the key is damaged.",
                    cause: .damage)
            case .badPoint: .param("The public key is not a point on the curve P-256.")
            case .busy:
                .busy(
                    "The TPM is busy or in use by other programs (\(text)). Try again. With "
                        + "/dev/tpmrm0 each program has its own slots in the chip.")
            case .lockedOut:
                .busy(
                    "The TPM is locked after too many wrong passwords. It unlocks by itself after "
                        + "a while; `tpm2_dictionarylockout` can show and reset the lockout.")
            case .ownerPassword:
                KeychainFailure(
                    .notAvailable,
                    "The owner of the TPM has set a password for its storage hierarchy, which "
                        + "the keychain doesn't know.",
                    cause: .permission)
            case .broken:
                KeychainFailure(.notAvailable, "The TPM can't be reached (\(text)).")
            case .other:
                KeychainFailure(
                    .notAvailable,
                    "The TPM refused the step `\(failure.command.rawValue)` (\(text)).")
            }
    }
}

#endif
