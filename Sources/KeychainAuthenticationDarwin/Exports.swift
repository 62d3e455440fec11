// KeychainAuthenticationDarwin: re-exports the system's LocalAuthentication module for
// KeychainAuthentication, which can't import LocalAuthentication directly. The file Exports.swift
// of KeychainServicesDarwin explains why.

#if canImport(Darwin)
@_exported public import LocalAuthentication
#endif
