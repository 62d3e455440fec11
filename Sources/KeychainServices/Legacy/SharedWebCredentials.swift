// SharedWebCredentials: passwords that an app shares with a web site through Safari. There is no
// browser to share them with; what is left is making a password.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Not implemented: saves a password for a web site and the programs that belong to it.
///
/// - Parameters:
///   - fqdn: The name of the site.
///   - account: Whose password it is.
///   - password: The password, or nil to delete it.
///   - completionHandler: Receives an error with ``errSecUnimplemented``, before this returns, on the
///     caller's thread. Nothing was saved or deleted.
///
/// It corresponds to the function of the same name.
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
///   - fqdn: The name of the site, or nil for all that the program belongs to.
///   - account: Whose password, or nil for any account's.
///   - completionHandler: Receives no passwords and an error with ``errSecUnimplemented``, before this
///     returns, on the caller's thread.
///
/// It corresponds to the function of the same name.
@available(*, deprecated, message: "Use SecItemCopyMatching with kSecClassInternetPassword.")
public func SecRequestSharedWebCredential(
    _ fqdn: CFString?, _ account: CFString?,
    _ completionHandler: @escaping (CFArray?, CFError?) -> Void
) {
    completionHandler(nil, CFError(status: errSecUnimplemented, reason: notShared))
}

private let notShared = "Not implemented: passwords are not shared with a browser."

/// Makes a password.
///
/// - Returns: Four groups of three characters with hyphens between, among them an upper-case
///   letter, a lower-case letter and a digit. The characters are none that look like others; all such
///   passwords are equally likely, 69 bits. Nil if the kernel gave no random bytes.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecCreateSharedWebCredentialPassword() -> CFString? {
    SharedWebPassword.random().map { $0 as NSString }
}

/// Passwords of twelve characters.
enum SharedWebPassword {
    static let uppercase = Array("ABCDEFGHJKLMNPQRSTUVWXYZ".utf8)
    static let lowercase = Array("abcdefghijkmnpqrstuvwxyz".utf8)
    static let digits = Array("23456789".utf8)
    private static let characters = uppercase + lowercase + digits

    static func random() -> String? {
        // Drawing anew until every kind occurs leaves all passwords equally likely, which putting a
        // missing kind into a chosen place would not. Five of six draws suffice.
        while let drawn = draw(12) {
            guard [uppercase, lowercase, digits].allSatisfy({ !Set(drawn).isDisjoint(with: $0) })
            else { continue }
            return stride(from: 0, to: drawn.count, by: 3)
                .map { String(decoding: drawn[$0..<$0 + 3], as: UTF8.self) }
                .joined(separator: "-")
        }
        return nil
    }

    /// Characters that are drawn independently, each as likely as any other.
    private static func draw(_ count: Int) -> [UInt8]? {
        var drawn: [UInt8] = []
        // A byte beyond the last whole multiple would make the first characters likelier.
        let limit = 256 / characters.count * characters.count
        while drawn.count < count {
            var bytes = [UInt8](repeating: 0, count: count)
            // SAFETY: the pointer is to `count` bytes that outlive the call.
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
