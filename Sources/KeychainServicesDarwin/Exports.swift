// KeychainServicesDarwin: the system's Security, for the modules that may not name it. A module that
// is built under `-module-alias KeychainServices=Security`, or that imports one that is, may not say
// `import Security` anywhere, not even in a branch that is compiled out.

#if canImport(Darwin)
@_exported public import Security
#endif
