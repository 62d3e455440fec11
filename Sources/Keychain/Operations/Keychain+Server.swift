// Keychain.Server: the server that the internet passwords of a keychain belong to.
//   (1) Every part of a server belongs to the primary key of the items. A part that is `nil`
//       matches only items without that part. An account therefore identifies at most one item in a
//       group.

import KeychainCore

extension Keychain {
    /// A server that users sign in to. Internet passwords belong to a server as other secrets
    /// belong to a service.
    ///
    /// ```swift
    /// let mail = Keychain(
    ///     server: Keychain.Server("imap.example.com", protocol: .imaps, port: 993))
    /// try mail.save(password, for: KeychainKey("alice"))
    /// ```
    ///
    /// All parts together identify the server, compared byte for byte. "example.com" with port 443
    /// and "example.com" without a port are different servers, and a keychain for one never finds
    /// the passwords of the other.
    ///
    /// On Apple platforms, the keychain can't distinguish an absent part from a present one while
    /// it is locked. There, an operation that encounters a locked password with the same host and
    /// account fails with ``KeychainError/Code/interactionNotAllowed``.
    public struct Server: Hashable, Sendable {
        /// The name or address of the host (`kSecAttrServer`).
        public var host: String

        /// The protocol (`kSecAttrProtocol`), or `nil` if the server has none.
        public var `protocol`: NetworkProtocol?

        /// The port, 1 to 65,535 (`kSecAttrPort`). `nil` and 0 both mean that the server has no
        /// port.
        public var port: UInt16?

        /// The path on the server (`kSecAttrPath`). `nil` and "" both mean that there is none.
        public var path: String?

        /// The security domain; for HTTP, the realm (`kSecAttrSecurityDomain`). `nil` and "" both
        /// mean that the server has none.
        public var securityDomain: String?

        /// The authentication scheme (`kSecAttrAuthenticationType`), or `nil` if the server has
        /// none.
        public var authenticationType: AuthenticationType?

        /// Creates a server.
        ///
        /// - Parameters:
        ///   - host: The name or address of the host.
        ///   - protocol: The protocol.
        ///   - port: The port, 1 to 65,535.
        ///   - path: The path on the server.
        ///   - securityDomain: The security domain; for HTTP, the realm.
        ///   - authenticationType: The authentication scheme.
        public init(
            _ host: String, protocol: NetworkProtocol? = nil, port: UInt16? = nil,
            path: String? = nil,
            securityDomain: String? = nil, authenticationType: AuthenticationType? = nil
        ) {
            self.host = host
            self.protocol = `protocol`
            self.port = port
            self.path = path
            self.securityDomain = securityDomain
            self.authenticationType = authenticationType
        }

        /// All parts as text, in a fixed order.
        var parts: [String] {
            [
                host, `protocol`?.rawValue ?? "", "\(port ?? 0)", path ?? "", securityDomain ?? "",
                authenticationType?.rawValue ?? "",
            ]
        }

        /// The attributes of the primary key that describe the server. An absent part is stored,
        /// and searched for, as the empty string or zero.
        var attributes: Attributes {
            [
                .server: .string(host),
                .protocolType: `protocol`.map { .string($0.rawValue) } ?? .number(0),
                .port: .number(Int64(port ?? 0)),
                .path: .string(path ?? ""),
                .securityDomain: .string(securityDomain ?? ""),
                .authenticationType: .string(authenticationType?.rawValue ?? ""),
            ]
        }
    }
}

extension Keychain.Server {
    /// A network protocol (`kSecAttrProtocol`). Programs can specify only the protocols declared
    /// here.
    public struct NetworkProtocol: Hashable, Sendable {
        /// The four characters of the corresponding `kSecAttrProtocol…` constant.
        public let rawValue: String

        private init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// FTP (`kSecAttrProtocolFTP`).
        public static let ftp = Self("ftp ")
        /// FTP over TLS (`kSecAttrProtocolFTPS`).
        public static let ftps = Self("ftps")
        /// HTTP (`kSecAttrProtocolHTTP`).
        public static let http = Self("http")
        /// HTTP over TLS (`kSecAttrProtocolHTTPS`).
        public static let https = Self("htps")
        /// HTTP proxy (`kSecAttrProtocolHTTPProxy`).
        public static let httpProxy = Self("htpx")
        /// HTTPS proxy (`kSecAttrProtocolHTTPSProxy`).
        public static let httpsProxy = Self("htsx")
        /// SOCKS (`kSecAttrProtocolSOCKS`).
        public static let socks = Self("sox ")
        /// IMAP (`kSecAttrProtocolIMAP`).
        public static let imap = Self("imap")
        /// IMAP over TLS (`kSecAttrProtocolIMAPS`).
        public static let imaps = Self("imps")
        /// POP3 (`kSecAttrProtocolPOP3`).
        public static let pop3 = Self("pop3")
        /// POP3 over TLS (`kSecAttrProtocolPOP3S`).
        public static let pop3s = Self("pops")
        /// SMTP (`kSecAttrProtocolSMTP`).
        public static let smtp = Self("smtp")
        /// LDAP (`kSecAttrProtocolLDAP`).
        public static let ldap = Self("ldap")
        /// LDAP over TLS (`kSecAttrProtocolLDAPS`).
        public static let ldaps = Self("ldps")
        /// SSH (`kSecAttrProtocolSSH`).
        public static let ssh = Self("ssh ")
        /// Telnet (`kSecAttrProtocolTelnet`).
        public static let telnet = Self("teln")
        /// SMB (`kSecAttrProtocolSMB`).
        public static let smb = Self("smb ")
        /// AFP (`kSecAttrProtocolAFP`).
        public static let afp = Self("afp ")
        /// NNTP (`kSecAttrProtocolNNTP`).
        public static let nntp = Self("nntp")
        /// IRC (`kSecAttrProtocolIRC`).
        public static let irc = Self("irc ")
        /// IRC over TLS (`kSecAttrProtocolIRCS`).
        public static let ircs = Self("ircs")
        /// RTSP (`kSecAttrProtocolRTSP`).
        public static let rtsp = Self("rtsp")
        /// IPP (`kSecAttrProtocolIPP`).
        public static let ipp = Self("ipp ")
    }

    /// An authentication scheme of a server (`kSecAttrAuthenticationType`). Programs can specify
    /// only the schemes declared here.
    public struct AuthenticationType: Hashable, Sendable {
        /// The four characters of the corresponding `kSecAttrAuthenticationType…` constant.
        public let rawValue: String

        private init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// HTTP Basic (`kSecAttrAuthenticationTypeHTTPBasic`).
        public static let httpBasic = Self("http")
        /// HTTP Digest (`kSecAttrAuthenticationTypeHTTPDigest`).
        public static let httpDigest = Self("httd")
        /// An HTML form (`kSecAttrAuthenticationTypeHTMLForm`).
        public static let htmlForm = Self("form")
        /// NTLM (`kSecAttrAuthenticationTypeNTLM`).
        public static let ntlm = Self("ntlm")
        /// Microsoft Network (`kSecAttrAuthenticationTypeMSN`).
        public static let msn = Self("msna")
        /// Distributed password authentication (`kSecAttrAuthenticationTypeDPA`).
        public static let dpa = Self("dpaa")
        /// Remote password authentication (`kSecAttrAuthenticationTypeRPA`).
        public static let rpa = Self("rpaa")
        /// The protocol's default scheme (`kSecAttrAuthenticationTypeDefault`).
        public static let `default` = Self("dflt")
    }
}
