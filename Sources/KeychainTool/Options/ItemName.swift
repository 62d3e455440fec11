// ItemName: the name of a generic password as one word, SERVICE/ACCOUNT.
//   (1) The last slash is the separator, so that a service may be a URL: `https://example.org/ada`.
//   (2) Without a slash, or with nothing after it, no account is named. A command that selects one
//       existing item then accepts any account, if exactly one item matches. A command that saves
//       an item uses the empty account.
//   (3) `%2F` or `%2f` stands for a slash that isn't the separator, and `%25` for a percent sign.
//       Any other `%` stands for itself.

import KeychainCore

struct ItemName: Hashable, CustomStringConvertible {
    /// The name as it was written.
    let description: String
    let service: String
    /// The account, or `nil` for any account.
    let account: String?

    /// - Returns: `nil` if the service is empty.
    init?(_ text: String) {
        let bytes = text.utf8
        let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
        service = Self.decoded(bytes[..<(slash ?? bytes.endIndex)])
        let account = slash.map { Self.decoded(bytes[bytes.index(after: $0)...]) } ?? ""
        self.account = account.isEmpty ? nil : account
        description = text
        if service.isEmpty { return nil }
    }

    /// The word that names an item with this service and account, or `nil` if no word does.
    static func text(service: String, account: String) -> String? {
        guard !service.isEmpty else { return nil }
        let service = withMarkedPercents(service)
        // Without an account, a slash in the service would be taken for the separator. Another
        // slash at the end prevents that.
        guard !account.isEmpty else { return service.contains("/") ? service + "/" : service }
        return service + "/" + withMarkedPercents(account).replacing("/", with: "%2F")
    }

    /// Replaces a percent sign with `%25` if it would begin an escape.
    private static func withMarkedPercents(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        let scalars = Array(text.unicodeScalars)
        for (index, scalar) in scalars.enumerated() {
            result.append(scalar)
            let next = String(String.UnicodeScalarView(scalars[(index + 1)...].prefix(2)))
            if scalar == "%", ["2F", "2f", "25"].contains(next) {
                result.append(contentsOf: "25".unicodeScalars)
            }
        }
        return String(result)
    }

    private static func decoded(_ bytes: Substring.UTF8View) -> String {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            let code =
                byte == UInt8(ascii: "%") ? String(decoding: rest.prefix(2), as: UTF8.self) : ""
            switch code {
            case "2F", "2f": result.append(UInt8(ascii: "/"))
            case "25": result.append(byte)
            default:
                result.append(byte)
                continue
            }
            rest = rest.dropFirst(2)
        }
        return String(decoding: result, as: UTF8.self)
    }

    func query(in group: String?) -> ItemQuery {
        var attributes: Attributes = [.service: .string(service)]
        attributes[.account] = account.map { .string($0) }
        return ItemQuery(
            itemClass: .genericPassword, attributes: attributes, accessGroup: group,
            isSynchronizable: nil)
    }
}
