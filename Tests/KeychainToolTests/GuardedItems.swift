// GuardedItems: a certificate, keys, and items with access controls. The command line can't create
// any of these items.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore

enum GuardedItems {
    static let passcode = "1234"
    static let password = "battery staple"

    /// CN=EXAMPLE CA, O=EXAMPLE: the content of a distinguished name, as stored in the attributes
    /// of certificates.
    private static let issuer: [UInt8] =
        [0x31, 0x13, 0x30, 0x11, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x0A]
        + Array("EXAMPLE CA".utf8)
        + [0x31, 0x10, 0x30, 0x0E, 0x06, 0x03, 0x55, 0x04, 0x0A, 0x13, 0x07]
        + Array("EXAMPLE".utf8)
    private static let hash = AttributeValue.data(Data((0..<20).map { 0xA0 + UInt8($0) }))

    /// Sets a passcode and adds the items to the keychain in the home folder of a test.
    static func add(to home: TestHome) throws {
        let engine = try KeychainEngine.open(
            directory: home.path + "/.local/share/keychain", options: .testing)
        defer { engine.close() }
        try engine.setPasscode(SecretBytes(copying: Array(passcode.utf8)))
        for item in items {
            _ = try engine.perform(AddItem(item), as: AccessGroups(["default"]))
        }
    }

    private static var items: [NewItem] {
        let authorization = Authorization(applicationPassword: Data(password.utf8))
        func guarded(_ service: String, _ constraints: AccessConstraints) -> NewItem {
            NewItem(
                itemClass: .genericPassword, attributes: [.service: .string(service)],
                protection: .alwaysThisDeviceOnly, constraints: constraints,
                data: Data("the secret of \(service)".utf8), authorization: authorization)
        }
        func key(
            _ tag: String, _ type: Int64, _ size: Int64, _ keyClass: Int64,
            _ constraints: AccessConstraints = []
        ) -> NewItem {
            NewItem(
                itemClass: .key,
                attributes: [
                    .applicationLabel: hash, .applicationTag: .string(tag), .type: .number(type),
                    .keySizeInBits: .number(size), .keyClass: .number(keyClass),
                    .isPrivate: .number(keyClass == 1 ? 1 : 0), .label: .string("mail.example"),
                ],
                protection: .alwaysThisDeviceOnly, constraints: constraints,
                data: Data([4, 0, 0xFF]), authorization: authorization)
        }
        return [
            NewItem(
                itemClass: .certificate,
                attributes: [
                    .issuer: .data(Data(issuer)), .serialNumber: .data(Data([0x01, 0xFF])),
                    .subject: .data(Data([0x31])), .publicKeyHash: hash,
                    .certificateType: .number(1), .label: .string("mail.example"),
                ],
                protection: .alwaysThisDeviceOnly, data: Data([0x30, 0x00])),
            key("org.example.signing", 73, 256, 1),
            key("org.example.guarded", 42, 3072, 1, [.userPresence, .privateKeyUsage]),
            key("org.example.public", 105, 256, 0),
            guarded("bank", .userPresence),
            guarded("vault", .applicationPassword),
            guarded("safe", [.devicePasscode, .and, .applicationPassword]),
            guarded("fingerprint", .biometryAny),
        ]
    }
}
