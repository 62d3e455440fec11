// DeviceState: the app's information about its device, such as the attestation level.

import Foundation

/// The level at which a server can trust that captures come from the device.
public enum AttestationLevel: String, Codable, Sendable {
    /// Captures are signed with a key in the Secure Enclave.
    case secureEnclave = "secure_enclave"
    /// Nothing proves which device captures come from.
    case unverified = "unverified"
}

/// The app's information about the device that it runs on.
///
/// It is stored as JSON with ISO 8601 dates, which are precise to the second.
public struct DeviceState: Codable, Hashable, Sendable {
    /// The identifier of the device.
    public var deviceId: String
    /// The identifier of the key that attests the device, or `nil` if there is no such key.
    public var attestationKeyId: String?
    /// The attestation level of the device.
    public var attestationLevel: AttestationLevel
    /// Whether the device measures depth.
    public var hasLidar: Bool
    /// The manufacturer's name of the model.
    public var deviceModel: String
    /// The time of the registration, or `nil` if the device isn't registered.
    public var registeredAt: Date?

    /// Creates a state with these values.
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
