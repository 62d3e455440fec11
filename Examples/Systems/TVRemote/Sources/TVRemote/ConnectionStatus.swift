// ConnectionStatus: the status of the app's last connection, in defaults that app and widget share.
//   (1) Defaults are stored in a file in plaintext, so a status contains no secrets.

import Foundation

/// The status of the app's last connection, and the address of the last successful one.
///
/// The app saves the status, and the widget shows it.
public struct ConnectionStatus: Hashable, Sendable {
    /// The application group of app and widget, which is the suite name of the defaults that they
    /// share.
    public static let suiteName = "group.com.DaraConsultingInc.LGTVRemoteWidget"

    private enum Key {
        static let isConnected = "isConnected"
        static let lastAddress = "lastAddress"
    }

    /// Whether the app's last connection succeeded.
    public var isConnected: Bool
    /// The IP address of the last successful connection, or `nil` if there was none.
    public var lastAddress: String?

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - isConnected: Whether the last connection succeeded.
    ///   - lastAddress: The IP address of the last successful connection.
    public init(isConnected: Bool = false, lastAddress: String? = nil) {
        self.isConnected = isConnected
        self.lastAddress = lastAddress
    }

    /// Reads the status. If no status is stored, the app is not connected and there is no address.
    ///
    /// - Parameter defaults: The defaults of ``suiteName``.
    public init(in defaults: UserDefaults) {
        isConnected = defaults.bool(forKey: Key.isConnected)
        lastAddress = defaults.string(forKey: Key.lastAddress)
    }

    /// Saves the status for other programs to read.
    ///
    /// - Parameter defaults: The defaults of ``suiteName``.
    public func save(in defaults: UserDefaults) {
        defaults.set(isConnected, forKey: Key.isConnected)
        if let lastAddress {
            defaults.set(lastAddress, forKey: Key.lastAddress)
        } else {
            defaults.removeObject(forKey: Key.lastAddress)
        }
        defaults.synchronize()
    }
}
