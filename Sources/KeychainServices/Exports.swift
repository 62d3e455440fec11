// Exports: the modules that importing this module also imports.
//   (1) Foundation is imported too, as with Apple's module, because the Core Foundation names here
//       are Foundation's classes.
//   (2) A file must not import CoreFoundation as well. That module declares the same names with
//       other types, so that every use would be ambiguous. Import only this module.
//   (3) On Apple platforms, the module re-exports the system's module, and the declarations of its
//       other files are compiled out.

@_exported public import Foundation

#if canImport(Darwin)
@_exported public import KeychainServicesDarwin
#endif
