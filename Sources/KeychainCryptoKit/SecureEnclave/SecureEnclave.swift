// SecureEnclave: keys in hardware in the shape of Apple's framework for cryptography.
//   (1) A key is not stored anywhere: a program that keeps its data representation keeps the key.
//       The data are of use to this keychain with its hardware alone.

#if !canImport(Darwin)

import KeychainRuntime
import KeychainCore

/// Keys that hardware makes and never gives out.
///
/// On Linux the hardware is a TPM 2.0. Nothing here is kept by the keychain: save a key's data
/// representation, for instance as an item. To have keys by name, use `createSecureEnclaveKey` of the
/// module `Keychain`.
///
/// It corresponds to the enumeration of the same name.
public enum SecureEnclave {
    /// Whether there is such hardware. Also false where the keychain can't be used at all.
    public static var isAvailable: Bool {
        (try? KeychainContext.current().service.perform(HasSecureEnclave())) ?? false
    }

    /// Keys on P-256, the only ones that the hardware has.
    public enum P256 {
        /// Keys that sign.
        public enum Signing {}
        /// Keys that agree on secrets.
        public enum KeyAgreement {}
    }
}

#endif
