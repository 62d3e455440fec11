// Exports: the modules that this module re-exports.
//   (1) Foundation is re-exported, as by Apple's module, because the Core Foundation names here are
//       Foundation's classes.
//   (2) On Linux, a file that imports this module must not also import CoreFoundation, which
//       declares the same names with other types: every use of these names would be ambiguous.
//   (3) On Apple platforms, the module re-exports the system's Security module, and the
//       declarations of its other files are compiled out.

@_exported public import Foundation

#if canImport(Darwin)
@_exported public import KeychainServicesDarwin
#endif
