// SharedWebCredentials: passwords that an app shares with a web site through Safari. There is no
// browser to share them with, so only the password generator is implemented.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Not implemented: saves a password for a web site and the programs that belong to it.
///
/// - Parameters:
///   - fqdn: The host name of the site.
///   - account: The account name.
///   - password: The password, or `nil` to delete it.
///   - completionHandler: Called with an error with ``errSecUnimplemented`` on the caller's thread,
///     before this function returns. Nothing was saved or deleted.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "Use SecItemAdd with kSecClassInternetPassword.")
public func SecAddSharedWebCredential(
    _ fqdn: CFString, _ account: CFString, _ password: CFString?,
    _ completionHandler: @escaping (CFError?) -> Void
) {
    completionHandler(CFError(status: errSecUnimplemented, reason: notShared))
}

/// Not implemented: asks the user for one of the passwords of a web site.
///
/// - Parameters:
///   - fqdn: The host name of the site, or `nil` for all sites to which the program belongs.
///   - account: The account name, or `nil` for any account.
///   - completionHandler: Called with no passwords and an error with ``errSecUnimplemented`` on the
///     caller's thread, before this function returns.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "Use SecItemCopyMatching with kSecClassInternetPassword.")
public func SecRequestSharedWebCredential(
    _ fqdn: CFString?, _ account: CFString?,
    _ completionHandler: @escaping (CFArray?, CFError?) -> Void
) {
    completionHandler(nil, CFError(status: errSecUnimplemented, reason: notShared))
}

private let notShared = "Not implemented: passwords are not shared with a browser."

/// Generates a password.
///
/// - Returns: Four groups of three characters, separated by hyphens. There is at least one
///   upper-case letter, one lower-case letter and one digit. The letters I, O, l and o and the
///   digits 0 and 1 are not used, because they look alike. All such passwords are equally likely
///   (69 bits of entropy). `nil` if the kernel returned no random bytes.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecCreateSharedWebCredentialPassword() -> CFString? {
    SharedWebPassword.random().map { $0 as NSString }
}

/// Generates passwords of twelve characters.
enum SharedWebPassword {
    static let uppercase = Array("ABCDEFGHJKLMNPQRSTUVWXYZ".utf8)
    static let lowercase = Array("abcdefghijkmnpqrstuvwxyz".utf8)
    static let digits = Array("23456789".utf8)
    private static let characters = uppercase + lowercase + digits

    static func random() -> String? {
        // Drawing again until every kind of character occurs keeps all passwords equally likely.
        // Inserting a missing kind at a chosen position would not. Five of six draws succeed.
        while let drawn = draw(12) {
            guard [uppercase, lowercase, digits].allSatisfy({ !Set(drawn).isDisjoint(with: $0) })
            else { continue }
            return stride(from: 0, to: drawn.count, by: 3)
                .map { String(decoding: drawn[$0..<$0 + 3], as: UTF8.self) }
                .joined(separator: "-")
        }
        return nil
    }

    /// Characters drawn independently and with equal probability.
    private static func draw(_ count: Int) -> [UInt8]? {
        var drawn: [UInt8] = []
        // Bytes at or above this limit are rejected, because they would make the first characters
        // more likely.
        let limit = 256 / characters.count * characters.count
        while drawn.count < count {
            var bytes = [UInt8](repeating: 0, count: count)
            // SAFETY: the pointer refers to `count` bytes that outlive the call.
            let status = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe buffer.baseAddress.map { unsafe SecRandomCopyBytes(nil, count, $0) }
            }
            guard status == errSecSuccess else { return nil }
            drawn += bytes.filter { $0 < limit }.map { characters[Int($0) % characters.count] }
        }
        return Array(drawn.prefix(count))
    }
}

#endif
