// KeychainServicesDarwin: re-exports the system's Security module for modules that can't import it,
// and provides the part of CryptoKit that they need. A module built with
// `-module-alias KeychainServices=Security`, or one that imports such a module, can't contain
// `import Security` anywhere, not even in a branch that is compiled out.

#if canImport(Darwin)
import CryptoKit
@_exported public import Security

/// Whether this machine has a Secure Enclave.
package var isSecureEnclaveAvailable: Bool { SecureEnclave.isAvailable }
#endif
