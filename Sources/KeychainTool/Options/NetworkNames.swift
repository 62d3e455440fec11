// NetworkNames: readable names for the values of kSecAttrProtocol and kSecAttrAuthenticationType,
// and the parsing of HOST:PORT.
//   (1) An item contains Apple's four-character code, so that other programs find the item. A value
//       that is not in the table is stored and shown unchanged.

import ArgumentParser
package import KeychainCore

package enum NetworkNames {
    package static let protocols: [(name: String, code: String)] = [
        ("afp", "afp "), ("appletalk", "atlk"), ("daap", "daap"), ("eppc", "eppc"),
        ("ftp", "ftp "), ("ftp-account", "ftpa"), ("ftp-proxy", "ftpx"), ("ftps", "ftps"),
        ("http", "http"), ("http-proxy", "htpx"), ("https", "htps"), ("https-proxy", "htsx"),
        ("imap", "imap"), ("imaps", "imps"), ("ipp", "ipp "), ("irc", "irc "), ("ircs", "ircs"),
        ("ldap", "ldap"), ("ldaps", "ldps"), ("nntp", "nntp"), ("nntps", "ntps"),
        ("pop3", "pop3"), ("pop3s", "pops"), ("rtsp", "rtsp"), ("rtsp-proxy", "rtsx"),
        ("smb", "smb "), ("smtp", "smtp"), ("socks", "sox "), ("ssh", "ssh "),
        ("telnet", "teln"), ("telnets", "tels"),
    ]

    package static let authenticationTypes: [(name: String, code: String)] = [
        ("default", "dflt"), ("dpa", "dpaa"), ("html-form", "form"), ("http-basic", "http"),
        ("http-digest", "httd"), ("msn", "msna"), ("ntlm", "ntlm"), ("rpa", "rpaa"),
    ]

    /// Splits `HOST:PORT`. The port may be missing, with or without the colon (RFC 3986, section
    /// 3.2.3). In an IPv6 address, the colons are in brackets.
    ///
    /// - Returns: `nil` if there is no host, or if the port is not a number up to 65,535.
    static func hostAndPort(_ text: Substring) -> (host: String, port: Int?)? {
        var host = text
        var port: Int?
        if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
            let digits = text[text.index(after: colon)...]
            if !digits.isEmpty {
                guard let number = UInt16(digits) else { return nil }
                port = Int(number)
            }
            host = text[..<colon]
        }
        return host.isEmpty ? nil : (String(host), port)
    }

    private static func table(of attribute: Attribute) -> [(name: String, code: String)] {
        switch attribute {
        case .protocolType: protocols
        case .authenticationType: authenticationTypes
        default: []
        }
    }

    /// The attribute value for a name or code from the command line or an imported file. It is
    /// `nil` if the attribute can't have such a value.
    package static func value(of name: String, for attribute: Attribute) -> AttributeValue? {
        let code = table(of: attribute).first { $0.name == name }?.code ?? name
        return AttributeValue.string(code).converted(to: attribute.kind)
    }

    /// The name for a value, or `nil` if it has none.
    package static func name(of value: AttributeValue, for attribute: Attribute) -> String? {
        guard case .string(let code) = value else { return nil }
        return table(of: attribute).first { $0.code == code }?.name
    }
}
