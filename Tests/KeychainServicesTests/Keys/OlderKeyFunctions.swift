// OlderKeyFunctions: wrappers of Apple's key functions that are older than SecKeyAlgorithm.

#if !canImport(Darwin)

import Foundation
import KeychainServices

/// Deprecated functions that existing code still calls. Only deprecated code can call them without
/// a warning. The tests call them through this protocol, which isn't deprecated.
protocol OlderKeyFunctions: Sendable {
    /// `sign`, `encrypt` and `decrypt` write into a buffer of `room` bytes, which is filled with
    /// 0xEE before the call.
    func sign(_ key: SecKey, _ padding: SecPadding, _ data: [UInt8], room: Int) -> (
        status: OSStatus, output: [UInt8]
    )
    func encrypt(_ key: SecKey, _ padding: SecPadding, _ data: [UInt8], room: Int) -> (
        status: OSStatus, output: [UInt8]
    )
    func decrypt(_ key: SecKey, _ padding: SecPadding, _ data: [UInt8], room: Int) -> (
        status: OSStatus, output: [UInt8]
    )
    func verify(_ key: SecKey, _ padding: SecPadding, _ data: [UInt8], _ sig: [UInt8]) -> OSStatus
    /// Passes a pointer only for each wanted key of the pair. At least one key must be wanted.
    func generate(_ parameters: CFDictionary, wanted: Set<KeyHalf>) -> GeneratedPair
}

/// The result of `SecKeyGeneratePair`.
struct GeneratedPair {
    var status: OSStatus
    var publicKey: SecKey?
    var privateKey: SecKey?
}

let olderKeyFunctions: any OlderKeyFunctions = SystemOlderKeyFunctions()

private struct SystemOlderKeyFunctions: OlderKeyFunctions {
    private func output(
        of function: (
            SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>,
            UnsafeMutablePointer<Int>
        ) -> OSStatus,
        _ key: SecKey, _ padding: SecPadding, _ data: [UInt8], room: Int
    ) -> (status: OSStatus, output: [UInt8]) {
        var buffer = [UInt8](repeating: 0xEE, count: room)
        var size = room
        // SAFETY: the arrays live through the call and have the sizes that are passed.
        let status = unsafe function(key, padding, data, data.count, &buffer, &size)
        return (status, Array(buffer.prefix(size)))
    }

    @available(*, deprecated)
    func sign(
        _ key: SecKey, _ padding: SecPadding, _ data: [UInt8], room: Int
    ) -> (status: OSStatus, output: [UInt8]) {
        unsafe output(of: SecKeyRawSign, key, padding, data, room: room)
    }

    @available(*, deprecated)
    func encrypt(
        _ key: SecKey, _ padding: SecPadding, _ data: [UInt8], room: Int
    ) -> (status: OSStatus, output: [UInt8]) {
        unsafe output(of: SecKeyEncrypt, key, padding, data, room: room)
    }

    @available(*, deprecated)
    func decrypt(
        _ key: SecKey, _ padding: SecPadding, _ data: [UInt8], room: Int
    ) -> (status: OSStatus, output: [UInt8]) {
        unsafe output(of: SecKeyDecrypt, key, padding, data, room: room)
    }

    @available(*, deprecated)
    func verify(
        _ key: SecKey, _ padding: SecPadding, _ data: [UInt8], _ sig: [UInt8]
    ) -> OSStatus {
        // SAFETY: the arrays live through the call and have the sizes that are passed.
        unsafe SecKeyRawVerify(key, padding, data, data.count, sig, sig.count)
    }

    @available(*, deprecated)
    func generate(_ parameters: CFDictionary, wanted: Set<KeyHalf>) -> GeneratedPair {
        var pair = GeneratedPair(status: 0)
        // SAFETY: the variables outlive the calls.
        switch (wanted.contains(.publicKey), wanted.contains(.privateKey)) {
        case (true, true):
            pair.status = unsafe SecKeyGeneratePair(parameters, &pair.publicKey, &pair.privateKey)
        case (true, false):
            pair.status = unsafe SecKeyGeneratePair(parameters, &pair.publicKey, nil)
        case (false, _):
            pair.status = unsafe SecKeyGeneratePair(parameters, nil, &pair.privateKey)
        }
        return pair
    }
}

#endif
