// KeychainAuthenticationDarwin: the system's LocalAuthentication, for KeychainAuthentication, which may
// not name it: see KeychainServicesDarwin.

#if canImport(Darwin)
@_exported public import LocalAuthentication
#endif
