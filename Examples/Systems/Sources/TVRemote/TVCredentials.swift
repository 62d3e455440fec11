// TVCredentials: how to reach a television and, after pairing, how to be let in.
//   (1) No description or dump holds the client key.

/// How to reach a television.
public struct TVCredentials: Codable, Hashable, Sendable {
    /// Where it is now.
    public var ipAddress: String
    /// What wakes it up.
    public var macAddress: String
    /// What it gave when it was paired: a secret. nil: it isn't paired.
    public var clientKey: String?

    /// Credentials of a television.
    public init(ipAddress: String, macAddress: String, clientKey: String? = nil) {
        self.ipAddress = ipAddress
        self.macAddress = macAddress
        self.clientKey = clientKey
    }
}

extension TVCredentials: CustomStringConvertible, CustomReflectable {
    /// The addresses and whether the television is paired.
    public var description: String {
        "\(ipAddress) (\(macAddress)), \(clientKey == nil ? "not paired" : "paired")"
    }

    /// A mirror of the addresses alone.
    public var customMirror: Mirror {
        Mirror(self, children: ["ipAddress": ipAddress, "macAddress": macAddress])
    }
}
