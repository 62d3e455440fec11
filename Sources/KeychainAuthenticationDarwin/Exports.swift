// KeychainAuthenticationDarwin: re-exports the system's LocalAuthentication module for
// KeychainAuthentication, which may not import it itself; KeychainServicesDarwin gives the reason.

#if canImport(Darwin)
@_exported public import LocalAuthentication
#endif
