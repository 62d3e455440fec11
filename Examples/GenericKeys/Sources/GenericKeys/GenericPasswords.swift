// GenericPasswords: keys stored as generic passwords, one of them with an access control.

import CryptoKit
import Foundation
import KeyStores
import LocalAuthentication
import Security

@MainActor func genericPasswords(_ session: Session) throws {
    session.title("Keys that Security doesn't support, stored as generic passwords")
    let store = GenericPasswordStore(service: service)

    let signer = Curve25519.Signing.PrivateKey()
    try store.store(signer, account: "signing")
    let loadedSigner = try store.read(Curve25519.Signing.PrivateKey.self, account: "signing")
    let message = Data("message".utf8)
    session.check(
        "the original public key verifies a signature by the loaded Curve25519.Signing key",
        try loadedSigner.map {
            signer.publicKey.isValidSignature(try $0.signature(for: message), for: message)
        } == true)

    let agreement = Curve25519.KeyAgreement.PrivateKey()
    let other = Curve25519.KeyAgreement.PrivateKey().publicKey
    try store.store(agreement, account: "agreement")
    let loadedAgreement = try store.read(
        Curve25519.KeyAgreement.PrivateKey.self, account: "agreement")
    session.check(
        "the loaded Curve25519.KeyAgreement key agrees on the same secret as the original key",
        try loadedAgreement?.sharedSecretFromKeyAgreement(with: other)
            == agreement.sharedSecretFromKeyAgreement(with: other))

    let symmetric = SymmetricKey(size: .bits256)
    let sealed = try AES.GCM.seal(message, using: symmetric)
    try store.store(symmetric, account: "symmetric")
    let loadedSymmetric = try store.read(SymmetricKey.self, account: "symmetric")
    session.check(
        "the loaded SymmetricKey opens a box that the original key sealed",
        try loadedSymmetric.map { try AES.GCM.open(sealed, using: $0) } == message)

    session.check(
        "bytes that aren't a key of the requested type cause an error",
        status { _ = try store.read(NineBytes.self, account: "symmetric") } == nil)
    for account in ["signing", "agreement", "symmetric"] { try store.delete(account: account) }
    session.check(
        "a deleted key is gone", try store.read(SymmetricKey.self, account: "symmetric") == nil)
}

/// A key of 9 bytes. The stored keys have other sizes, so reading them as this type fails.
private struct NineBytes: GenericPasswordConvertible {
    let rawRepresentation: Data

    init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws {
        self.rawRepresentation = rawRepresentation.withUnsafeBytes { Data($0) }
        guard self.rawRepresentation.count == 9 else { throw CryptoKitError.incorrectKeySize }
    }
}

@MainActor func accessControl(_ session: Session) throws {
    session.title("A key protected by an application password")
    let store = GenericPasswordStore(service: service)
    let key = SymmetricKey(size: .bits256)
    try store.store(
        key, account: "guarded", accessControl: try accessControl([.applicationPassword]),
        context: context(password: "right"))
    session.check(
        "with the password, the key can be read",
        try store.read(
            SymmetricKey.self, account: "guarded", context: context(password: "right")) == key)
    session.check(
        "with another password, the key can't be read",
        status {
            _ = try store.read(
                SymmetricKey.self, account: "guarded", context: context(password: "wrong"))
        } == errSecAuthFailed)
    session.check(
        "without a password and without a prompt, the key can't be read",
        status { _ = try store.read(SymmetricKey.self, account: "guarded", context: context()) }
            == errSecInteractionNotAllowed)
    session.check(
        "without the password, the key can still be found", try store.contains(account: "guarded"))
    try store.delete(account: "guarded")
}

private func accessControl(_ flags: SecAccessControlCreateFlags) throws -> SecAccessControl {
    var error: Unmanaged<CFError>?
    guard
        let accessControl = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, flags, &error)
    else { throw SecurityError(error?.takeRetainedValue()) }
    return accessControl
}

/// A context that never asks the user.
private func context(password: String? = nil) -> LAContext {
    let context = LAContext()
    context.interactionNotAllowed = true
    if let password { context.setCredential(Data(password.utf8), type: .applicationPassword) }
    return context
}
