// DeviceIdentificationService+Text: the identifier as text, the form in which it is stored and sent
// to the backend.

import Foundation

extension DeviceIdentificationService {
    /// Returns the identifier as text, creating and saving one if none exists.
    ///
    /// - Parameter type: `String.self`.
    /// - Returns: 36 characters, with hexadecimal digits in upper case.
    /// - Throws: The errors of ``getDeviceId()``.
    @concurrent
    public func getDeviceId(as type: String.Type) async throws -> String {
        try await getDeviceId().uuidString
    }

    /// Returns the identifier as text, synchronously. This method never creates an identifier.
    ///
    /// - Parameter type: `String.self`.
    /// - Returns: 36 characters, with hexadecimal digits in upper case.
    /// - Throws: The errors of ``getDeviceIdSync()``.
    public func getDeviceIdSync(as type: String.Type) throws -> String {
        try getDeviceIdSync().uuidString
    }

    /// Replaces the identifier of this installation, if any, with that of another installation.
    ///
    /// - Parameter text: 36 characters, with hexadecimal digits in either case.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId`` if the text is not an identifier, or
    ///   ``KeychainError/saveFailed(status:)``. The identifier is then unchanged.
    public func importDeviceId(_ text: String) throws {
        guard let uuid = UUID(uuidString: text) else {
            throw DeviceIdentificationError.invalidDeviceId
        }
        try importDeviceId(uuid)
    }
}
