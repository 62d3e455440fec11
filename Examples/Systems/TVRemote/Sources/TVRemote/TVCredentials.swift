// TVCredentials: where a television is and, after pairing, the key that it accepts.
//   (1) No description or dump holds the client key.

/// Where a television is and, after pairing, the key that it accepts.
public struct TVCredentials: Codable, Hashable, Sendable {
    /// The television's IP address. Empty if it is not known.
    public var ipAddress: String
    /// The television's MAC address, by which it is recognized. Empty if it is not known.
    public var macAddress: String
    /// The key that the television gave when it was paired: a secret. nil before pairing.
    public var clientKey: String?

    /// Makes credentials.
    ///
    /// - Parameters:
    ///   - ipAddress: The television's IP address.
    ///   - macAddress: The television's MAC address.
    ///   - clientKey: The key that the television gave; nil before pairing.
    public init(ipAddress: String, macAddress: String, clientKey: String? = nil) {
        self.ipAddress = ipAddress
        self.macAddress = macAddress
        self.clientKey = clientKey
    }

    /// The client key, if it is one that a television can have given.
    var usableKey: String? {
        clientKey.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether these are the credentials of the television with this MAC address, as far as is
    /// known: credentials without an address can be those of any television.
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
