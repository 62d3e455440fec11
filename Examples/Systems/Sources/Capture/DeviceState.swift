// DeviceState: what the capture app knows of its device.

public import Foundation

/// What the app knows of the device that it runs on. Stored as JSON with ISO 8601 dates, which are
/// precise to the second.
public struct DeviceState: Codable, Hashable, Sendable {
    /// How far a server can trust that captures are of this device.
    public enum AttestationLevel: String, Codable, Sendable {
        /// Their signatures are made in a Secure Enclave.
        case secureEnclave = "secure_enclave"
        /// Nothing vouches for them.
        case unverified
    }

    /// The identifier of the device.
    public var deviceId: String
    /// The name of the key that attests it, if there is one.
    public var attestationKeyId: String?
    /// How far it can be trusted.
    public var attestationLevel: AttestationLevel
    /// Whether it measures depth.
    public var hasLidar: Bool
    /// What its maker calls it.
    public var deviceModel: String
    /// When it was registered; nil if it wasn't.
    public var registeredAt: Date?

    /// A state.
    public init(
        deviceId: String, attestationKeyId: String? = nil, attestationLevel: AttestationLevel,
        hasLidar: Bool, deviceModel: String, registeredAt: Date? = nil
    ) {
        self.deviceId = deviceId
        self.attestationKeyId = attestationKeyId
        self.attestationLevel = attestationLevel
        self.hasLidar = hasLidar
        self.deviceModel = deviceModel
        self.registeredAt = registeredAt
    }
}
