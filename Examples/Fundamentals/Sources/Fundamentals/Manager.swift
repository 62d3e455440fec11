// Manager: the actor at work, in an open keychain and in a locked one, and CryptoKit's keys in it.

import CryptoKit
import Foundation
import SecItemFundamentals
import Security

@MainActor func manager(_ session: Session) async throws {
    session.title("A manager, whose calls run one after the other and off the main actor")
    removeEverything()
    let manager = KeychainManager(queries) { print("    \($0)") }
    session.check("an absent secret is nil", try await manager.load(account: "alice") == nil)
    try await manager.save(Data("first".utf8), account: "alice")
    session.check(
        "a saved secret loads", try await manager.load(account: "alice") == Data("first".utf8))
    let before = reference(of: "alice")
    try await manager.save(Data("second".utf8), account: "alice")
    session.check(
        "saving again changes it",
        try await manager.load(account: "alice") == Data("second".utf8))
    session.check(
        "and it is the same item", before != nil && reference(of: "alice") == before)
    let bytes = Data([0, 255, 10, 0])
    try await manager.save(bytes, account: "bob")
    session.check("every byte comes back", try await manager.load(account: "bob") == bytes)
    session.check(
        "the accounts are listed", try await manager.listAccounts() == ["alice", "bob"])
    try await manager.delete(account: "alice")
    try await manager.delete(account: "alice")
    session.check(
        "a deleted secret is gone, and deleting twice is fine",
        try await manager.listAccounts() == ["bob"])
    try await manager.delete(account: "bob")
    session.check("nothing is left", try await manager.listAccounts().isEmpty)
}

private func reference(of account: String) -> Data? {
    let search = queries.search(
        queries.item(of: account), returning: .persistentReference, limit: .one)
    return find(search).result as? Data
}

@MainActor func keys(_ session: Session) async throws {
    session.title("Keys of CryptoKit")
    let manager = KeychainManager(queries)
    let key = SymmetricKey(size: .bits256)
    try await manager.save(key: key, account: "key.encryption")
    let sealed = try AES.GCM.seal(Data("message".utf8), using: key)
    if let loaded = try await manager.load(key: SymmetricKey.self, account: "key.encryption") {
        session.check(
            "a loaded symmetric key opens what was sealed before it was saved",
            try AES.GCM.open(sealed, using: loaded) == Data("message".utf8))
    } else {
        session.check("the symmetric key is there", false)
    }

    let signer = P256.Signing.PrivateKey()
    try await manager.save(
        key: signer, account: "key.signing", accessibility: .whenUnlockedThisDeviceOnly)
    if let loaded = try await manager.load(
        key: P256.Signing.PrivateKey.self, account: "key.signing")
    {
        let signature = try loaded.signature(for: Data("message".utf8))
        session.check(
            "a signature by a loaded P-256 key is one by the key that was saved",
            signer.publicKey.isValidSignature(signature, for: Data("message".utf8)))
    } else {
        session.check("the P-256 key is there", false)
    }

    try await manager.save(Data("no key".utf8), account: "key.signing")
    let damaged = try? await manager.load(
        key: P256.Signing.PrivateKey.self, account: "key.signing")
    let bytes = try await manager.load(account: "key.signing")
    session.check(
        "bytes that are no P-256 key give an error and stay",
        damaged == nil && bytes == Data("no key".utf8))
}

// MARK: With a passcode

@MainActor func locked(_ session: Session) async throws {
    session.title("Before the first unlock")
    let manager = KeychainManager(queries)
    for (call, status) in [
        ("a load", await status { _ = try await manager.load(account: "kept") }),
        ("a save", await status { try await manager.save(Data(), account: "kept") }),
        ("a listing", await status { _ = try await manager.listAccounts() }),
    ] {
        session.check(
            "\(call) is refused: \(SecurityError.text(of: status))",
            status == errSecInteractionNotAllowed)
    }
}

@MainActor func unlocked(_ session: Session) async throws {
    session.title("After the passcode was removed")
    let manager = KeychainManager(queries)
    session.check(
        "an item that was locked is as it was",
        try await manager.load(account: "kept") == Data("secret".utf8))
    session.check(
        "an item that needs a passcode has gone with it",
        try await manager.load(account: "late") == nil)
}

@MainActor private func status(of body: () async throws -> Void) async -> OSStatus {
    do {
        try await body()
        return errSecSuccess
    } catch {
        return (error as? SecurityError)?.status ?? errSecInternalError
    }
}
