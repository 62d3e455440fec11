// Exports: what a file sees that imports this module.
//   (1) Foundation comes with it, as it does with Apple's module: the Core Foundation names here are
//       Foundation's classes.
//   (2) A file must not import CoreFoundation as well: that module declares the same names with
//       other types, and every use of one becomes ambiguous. Import this module alone.
//   (3) On Apple's platforms the module is a door to the system's own; the declarations of the other
//       files are left out there.

@_exported public import Foundation

#if canImport(Darwin)
@_exported public import KeychainServicesDarwin
#endif
