// TVCredentials: the addresses of a television and, after pairing, the key that it accepts.
//   (1) No description or dump contains the client key.

/// The addresses of a television and, after pairing, the key that it accepts.
public struct TVCredentials: Codable, Hashable, Sendable {
    /// The television's IP address, or an empty string if it is not known.
    public var ipAddress: String
    /// The television's MAC address, which identifies it, or an empty string if it is not known.
    public var macAddress: String
    /// The key that the television issued when it was paired, which is a secret. `nil` before
    /// pairing.
    public var clientKey: String?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - ipAddress: The television's IP address.
    ///   - macAddress: The television's MAC address.
    ///   - clientKey: The key that the television issued, or `nil` before pairing.
    public init(ipAddress: String, macAddress: String, clientKey: String? = nil) {
        self.ipAddress = ipAddress
        self.macAddress = macAddress
        self.clientKey = clientKey
    }

    /// The client key, if it is not empty.
    var usableKey: String? {
        clientKey.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether these can be the credentials of the television with this MAC address. Credentials
    /// without a MAC address can be those of any television.
    func canBelong(to macAddress: String) -> Bool {
        self.macAddress.isEmpty || self.macAddress.lowercased() == macAddress.lowercased()
    }
}

extension TVCredentials: CustomStringConvertible, CustomReflectable {
    /// The addresses, and whether the television is paired.
    public var description: String {
        "\(ipAddress) (\(macAddress)), \(usableKey == nil ? "not paired" : "paired")"
    }

    /// A mirror of the addresses.
    public var customMirror: Mirror {
        Mirror(self, children: ["ipAddress": ipAddress, "macAddress": macAddress])
    }
}
