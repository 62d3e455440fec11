// DeviceState: what the capture app knows about its device, and how far others can rely on it.

import Foundation

/// How far a server can rely on captures being of this device.
public enum AttestationLevel: String, Codable, Sendable {
    /// Captures are signed with a key in the Secure Enclave.
    case secureEnclave = "secure_enclave"
    /// Nothing proves where captures come from.
    case unverified = "unverified"
}

/// What the app knows about the device that it runs on.
///
/// It is stored as JSON with ISO 8601 dates, which are precise to the second.
public struct DeviceState: Codable, Hashable, Sendable {
    /// The identifier of the device.
    public var deviceId: String
    /// The identifier of the key that attests the device; nil without such a key.
    public var attestationKeyId: String?
    /// How far a server can rely on the device.
    public var attestationLevel: AttestationLevel
    /// Whether the device measures depth.
    public var hasLidar: Bool
    /// The manufacturer's name of the model.
    public var deviceModel: String
    /// When the device was registered; nil if it wasn't.
    public var registeredAt: Date?

    /// A state of these values.
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
