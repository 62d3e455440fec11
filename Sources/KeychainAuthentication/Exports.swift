// Exports: the modules that are re-exported to files that import this module.
//   (1) Foundation is re-exported, as by Apple's module.
//   (2) On Apple platforms, this module re-exports the system's LocalAuthentication. The module's
//       own declarations except `AuthenticationOptions` are omitted there.

@_exported public import Foundation

#if canImport(Darwin)
@_exported public import KeychainAuthenticationDarwin
#endif
