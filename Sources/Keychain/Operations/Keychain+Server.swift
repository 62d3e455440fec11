// Keychain.Server: what the internet passwords of a keychain belong to.
//   (1) Every part belongs to the primary key of an item. One that is nil means items without it, and
//       never items with any: so an account names one item of a group.

import KeychainCore

extension Keychain {
    /// A place on a network that people sign in to: what the internet passwords of a keychain belong
    /// to, as other secrets belong to a service.
    ///
    /// ```swift
    /// let mail = Keychain(
    ///     server: Keychain.Server("imap.example.com", protocol: .imaps, port: 993))
    /// try mail.save(password, for: KeychainKey("alice"))
    /// ```
    ///
    /// All parts together identify the server, byte for byte: "example.com" at port 443 is another one
    /// than "example.com" without a port, and neither sees the other's passwords. On Apple's
    /// platforms a part that is absent can't be told from one that is there while the keychain is
    /// locked: an operation that meets a locked password of the same host and account fails with
    /// ``KeychainError/Code/interactionNotAllowed`` there.
    public struct Server: Hashable, Sendable {
        /// The name or address of the host (`kSecAttrServer`).
        public var host: String

        /// The protocol (`kSecAttrProtocol`). nil: none is stored.
        public var `protocol`: NetworkProtocol?

        /// The port, 1 to 65,535 (`kSecAttrPort`). nil, or 0: none is stored.
        public var port: UInt16?

        /// The path on the server (`kSecAttrPath`). nil, or empty: none is stored.
        public var path: String?

        /// The security domain, for HTTP its realm (`kSecAttrSecurityDomain`). nil, or empty: none is
        /// stored.
        public var securityDomain: String?

        /// How people sign in (`kSecAttrAuthenticationType`). nil: it isn't stored.
        public var authenticationType: AuthenticationType?

        /// A server.
        ///
        /// - Parameters:
        ///   - host: The name or address of the host.
        ///   - protocol: The protocol.
        ///   - port: The port, 1 to 65,535.
        ///   - path: The path on the server.
        ///   - securityDomain: The security domain, for HTTP its realm.
        ///   - authenticationType: How people sign in.
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

        /// Every part as text, in a fixed order.
        var parts: [String] {
            [
                host, `protocol`?.rawValue ?? "", "\(port ?? 0)", path ?? "", securityDomain ?? "",
                authenticationType?.rawValue ?? "",
            ]
        }

        /// Every part of the primary key that is the server's. An absent part is stored as empty text
        /// or as zero, and so is found by it.
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
    /// A protocol (`kSecAttrProtocol`). Only the named ones exist.
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
        /// A proxy for HTTP (`kSecAttrProtocolHTTPProxy`).
        public static let httpProxy = Self("htpx")
        /// A proxy for HTTP over TLS (`kSecAttrProtocolHTTPSProxy`).
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

    /// How people sign in to a server (`kSecAttrAuthenticationType`). Only the named ones exist.
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
        /// A form in a page (`kSecAttrAuthenticationTypeHTMLForm`).
        public static let htmlForm = Self("form")
        /// NTLM (`kSecAttrAuthenticationTypeNTLM`).
        public static let ntlm = Self("ntlm")
        /// Microsoft Network (`kSecAttrAuthenticationTypeMSN`).
        public static let msn = Self("msna")
        /// Distributed password authentication (`kSecAttrAuthenticationTypeDPA`).
        public static let dpa = Self("dpaa")
        /// Remote password authentication (`kSecAttrAuthenticationTypeRPA`).
        public static let rpa = Self("rpaa")
        /// What the protocol has by default (`kSecAttrAuthenticationTypeDefault`).
        public static let `default` = Self("dflt")
    }
}
