// KeychainServicesDarwin: the system's Security, and what is taken from its CryptoKit, for the modules
// that may not name them. A module that is built under `-module-alias KeychainServices=Security`, or
// that imports one that is, may not say `import Security` anywhere, not even in a branch that is
// compiled out.

#if canImport(Darwin)
import CryptoKit
@_exported public import Security

/// Whether this machine has a Secure Enclave.
package var isSecureEnclaveAvailable: Bool { SecureEnclave.isAvailable }
#endif
