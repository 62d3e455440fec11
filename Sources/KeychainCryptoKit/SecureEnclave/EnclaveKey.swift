// EnclaveKey: what the two kinds of keys in hardware have in common.

#if !canImport(Darwin)

import Crypto
public import Foundation
import KeychainAuthentication
import KeychainRuntime
import KeychainCore
public import KeychainServices

/// A key in hardware, with the person who authenticates its uses in front of the keychain.
struct EnclaveKey: Sendable {
    let blob: SecureEnclaveBlob
    private let keychain: KeychainConnection

    /// Makes a key, and others where the first one isn't representable as it has to be.
    init(
        compactRepresentable: Bool, _ accessControl: SecAccessControl?, _ context: LAContext?
    ) throws(SecureEnclaveFailure) {
        var new = NewSecureEnclaveKey(
            protection: .whenUnlockedThisDeviceOnly, constraints: .privateKeyUsage)
        if let accessControl {
            new.protection =
                ProtectionClass(code: accessControl.protection) ?? .whenUnlockedThisDeviceOnly
            new.constraints = AccessConstraints(rawValue: UInt64(accessControl.flags.rawValue))
        }
        // A coin that falls on one side so often is no coin.
        for _ in 0..<128 {
            let made = try Self.result { [new] () throws(KeychainFailure) in
                let keychain = try Self.keychain(context)
                let key = try keychain.perform(MakeSecureEnclaveKey(new))
                return try EnclaveKey(key.blob, keychain)
            }
            if made.isCompactRepresentable || !compactRepresentable {
                self = made
                return
            }
        }
        throw SecureEnclaveFailure(
            KeychainFailure(.internalError, "The hardware makes no representable keys."))
    }

    private var isCompactRepresentable: Bool {
        let key = try? Crypto.P256.Signing.PublicKey(x963Representation: blob.publicKey)
        return key?.compactRepresentation != nil
    }

    init(
        dataRepresentation: Data, _ context: LAContext?
    ) throws(SecureEnclaveFailure) {
        self = try Self.result { () throws(KeychainFailure) in
            try EnclaveKey(dataRepresentation, try Self.keychain(context))
        }
    }

    private init(_ blob: Data, _ keychain: KeychainConnection) throws(KeychainFailure) {
        guard let parsed = SecureEnclaveBlob(decoding: blob),
            (try? Crypto.P256.Signing.PublicKey(x963Representation: parsed.publicKey)) != nil
        else { throw .foreignSecureEnclaveKey }
        self.blob = parsed
        self.keychain = keychain
    }

    /// - Returns: r ‖ s.
    func sign(digest: Data) throws(SecureEnclaveFailure) -> Data {
        try Self.result { () throws(KeychainFailure) in
            try keychain.perform(
                SignDigest(digest, with: blob.encoded, authorization: Authorization()))
        }
    }

    /// The x coordinate of the product.
    func agree(with publicKey: Data) throws(SecureEnclaveFailure) -> Data {
        try Self.result { () throws(KeychainFailure) in
            try keychain.perform(
                DeriveSharedSecret(
                    of: blob.encoded, with: publicKey, authorization: Authorization()))
        }
    }

    private static func keychain(
        _ context: LAContext?
    ) throws(KeychainFailure) -> KeychainConnection {
        var options = AuthenticationOptions()
        options.context = context
        return try KeychainContext.current().authenticating(options)
    }

    private static func result<Value>(
        _ body: () throws(KeychainFailure) -> Value
    ) throws(SecureEnclaveFailure) -> Value {
        do {
            return try body()
        } catch {
            throw SecureEnclaveFailure(error)
        }
    }
}

/// Why a key in hardware was not made or used.
///
/// As an `NSError` it is of the domain `NSOSStatusErrorDomain` and has the status as its code, such as
/// `errSecUnimplemented` where there is no hardware.
public struct SecureEnclaveFailure: Error, CustomNSError, LocalizedError, Hashable, Sendable {
    private let failure: KeychainFailure

    init(_ failure: KeychainFailure) {
        self.failure = failure
    }

    /// The status, an `errSec…` code.
    public var status: OSStatus { failure.status.rawValue }

    /// The domain of statuses.
    public static var errorDomain: String { NSOSStatusErrorDomain }

    /// The status.
    public var errorCode: Int { Int(status) }

    /// What happened and what to do next. Nothing secret.
    public var errorDescription: String? { failure.reason }
}

#endif
