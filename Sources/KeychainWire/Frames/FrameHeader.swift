// FrameHeader: how many bytes the message of a frame has.

package import KeychainCore

/// The bytes before a message: its size, most significant byte first.
package enum FrameHeader {
    package static let byteCount = 4

    /// The size of the message that follows.
    ///
    /// It is to be called before anything is set aside for the message.
    ///
    /// - Parameters:
    ///   - field: The four bytes as a number.
    ///   - limit: The largest size to take, in bytes.
    /// - Returns: The size in bytes, 1 and up.
    /// - Throws: `param` for a size of zero or above the limit: the connection can't go on, since
    ///   it isn't known where the next frame begins.
    package static func messageByteCount(
        _ field: UInt32, limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> Int {
        guard field > 0 else { throw .param("A message of the keychain service is empty.") }
        guard Int(field) <= limit else {
            throw .param("A message of the keychain service has more than \(limit) bytes.")
        }
        return Int(field)
    }

    /// The size of the message whose frame begins with these bytes; nil while there are fewer than
    /// ``byteCount``.
    package static func messageByteCount(
        of frame: some Sequence<UInt8>, limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> Int? {
        var field: UInt32 = 0
        var count = 0
        for byte in frame.prefix(byteCount) {
            field = field << 8 | UInt32(byte)
            count += 1
        }
        guard count == byteCount else { return nil }
        return try messageByteCount(field, limit: limit)
    }
}
