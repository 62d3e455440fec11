// HostName: whether a certificate's names are those of a host, by the rules of RFC 6125 section 6.4.
//   (1) A wildcard stands for one whole label, the first, and leaves at least two: "*.example.com".
//   (2) An IP address is compared with addresses only, a name with names only.

#if !canImport(Darwin)

internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The host that a connection was meant for.
struct HostName {
    private enum Kind {
        /// 4 or 16 bytes.
        case address(Data)
        /// In small letters, without the dot at the end.
        case labels([Substring])
        /// Nothing that a certificate could name.
        case invalid
    }

    private let kind: Kind

    /// - Parameter text: A host name, an IPv4 address in four decimal numbers, or an IPv6 address,
    ///   which may stand in brackets.
    init(_ text: String) {
        if let address = Self.address(text) {
            kind = .address(address)
        } else if let labels = Self.labels(text) {
            kind = .labels(labels)
        } else {
            kind = .invalid
        }
    }

    /// Whether one of the names is this host's.
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

    /// - Returns: nil unless the name is of letters, digits, hyphens and underscores of ASCII.
    private static func labels(_ text: String) -> [Substring]? {
        // Before the case is folded: that makes a letter of ASCII of the sign for Kelvin.
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
        // The system's function reads to the first NUL, and would leave out what follows.
        guard !text.utf8.contains(0) else { return nil }
        if text.hasPrefix("["), text.hasSuffix("]") {
            return parsed(String(text.dropFirst().dropLast()), AF_INET6, byteCount: 16)
        }
        return parsed(text, AF_INET, byteCount: 4) ?? parsed(text, AF_INET6, byteCount: 16)
    }

    private static func parsed(_ text: String, _ family: Int32, byteCount: Int) -> Data? {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        // SAFETY: inet_pton writes the bytes of an address of the family, which is the buffer's
        // size.
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(family, text, buffer.baseAddress)
        }
        return result == 1 ? Data(bytes) : nil
    }
}

#endif
