// HostName: matching a host against the names in a certificate (RFC 6125, section 6.4).
//   (1) A wildcard replaces exactly one whole label, the first, and at least two labels must follow
//       it: "*.example.com".
//   (2) An IP address is compared only with addresses, a name only with names.

#if !canImport(Darwin)

internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The host that a connection is meant for.
struct HostName {
    private enum Kind {
        /// An IP address, 4 or 16 bytes.
        case address(Data)
        /// The labels of a name in lower case, without a trailing dot.
        case labels([Substring])
        /// Text that is neither a host name nor an IP address. No certificate matches it.
        case invalid
    }

    private let kind: Kind

    /// - Parameter text: A host name, an IPv4 address in dotted decimal notation, or an IPv6
    ///   address, which may be in brackets.
    init(_ text: String) {
        if let address = Self.address(text) {
            kind = .address(address)
        } else if let labels = Self.labels(text) {
            kind = .labels(labels)
        } else {
            kind = .invalid
        }
    }

    /// Whether one of the names matches this host.
    func isAmong(_ names: SecCertificate.AlternativeNames) -> Bool {
        switch kind {
        case .address(let address): names.addresses.contains(address)
        case .labels(let labels): names.hostNames.contains { Self.matches($0, labels) }
        case .invalid: false
        }
    }

    private static func matches(_ pattern: String, _ labels: [Substring]) -> Bool {
        guard pattern.hasPrefix("*.") else { return Self.labels(pattern) == labels }
        guard let rest = Self.labels(String(pattern.dropFirst(2))), rest.count >= 2 else {
            return false
        }
        return labels.count == rest.count + 1 && Array(labels.dropFirst()) == rest
    }

    /// - Returns: The labels in lower case, or `nil` unless each consists of one or more ASCII
    ///   letters, digits, hyphens and underscores.
    private static func labels(_ text: String) -> [Substring]? {
        // Checked before conversion to lower case, which would turn the Kelvin sign into an ASCII
        // letter.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let name = text.lowercased()
        let labels = (name.hasSuffix(".") ? name.dropLast() : name[...])
            .split(separator: ".", omittingEmptySubsequences: false)
        let isWhole = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.allSatisfy(isAllowed)
        }
        return isWhole ? labels : nil
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func address(_ text: String) -> Data? {
        // `inet_pton` would read only up to the first NUL and ignore the rest.
        guard !text.utf8.contains(0) else { return nil }
        if text.hasPrefix("["), text.hasSuffix("]") {
            return parsed(String(text.dropFirst().dropLast()), AF_INET6, byteCount: 16)
        }
        return parsed(text, AF_INET, byteCount: 4) ?? parsed(text, AF_INET6, byteCount: 16)
    }

    private static func parsed(_ text: String, _ family: Int32, byteCount: Int) -> Data? {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        // SAFETY: inet_pton writes an address of the given family, which has the buffer's size.
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(family, text, buffer.baseAddress)
        }
        return result == 1 ? Data(bytes) : nil
    }
}

#endif
