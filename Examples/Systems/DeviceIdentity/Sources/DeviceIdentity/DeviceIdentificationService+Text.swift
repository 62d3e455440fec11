// The identifier as text, which is what is stored and what the backend gets.

import Foundation

extension DeviceIdentificationService {
    /// The identifier as text. Where there is none, one is made and saved.
    ///
    /// - Parameter type: `String.self`.
    /// - Returns: 36 characters, the hexadecimal digits in upper case.
    /// - Throws: What ``getDeviceId()`` throws.
    @concurrent
    public func getDeviceId(as type: String.Type) async throws -> String {
        try await getDeviceId().uuidString
    }

    /// The identifier as text, at once. None is made.
    ///
    /// - Parameter type: `String.self`.
    /// - Returns: 36 characters, the hexadecimal digits in upper case.
    /// - Throws: What ``getDeviceIdSync()`` throws.
    public func getDeviceIdSync(as type: String.Type) throws -> String {
        try getDeviceIdSync().uuidString
    }

    /// Makes the identifier of another installation that of this one. It replaces the one that is
    /// there.
    ///
    /// - Parameter text: 36 characters, the hexadecimal digits in either case.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId`` if the text is no identifier, or
    ///   ``KeychainError/saveFailed(status:)``. The identifier stays as it was.
    public func importDeviceId(_ text: String) throws {
        guard let uuid = UUID(uuidString: text) else {
            throw DeviceIdentificationError.invalidDeviceId
        }
        try importDeviceId(uuid)
    }
}
