// Exports: what a file sees that imports this module.
//   (1) Foundation comes with it, as it does with Apple's module.
//   (2) On Apple's platforms the module is a door to the system's own; the declarations of the other
//       files are left out there.

@_exported public import Foundation

#if canImport(Darwin)
@_exported public import KeychainAuthenticationDarwin
#endif
