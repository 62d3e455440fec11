// ConnectionStatus: whether the app's last connection succeeded, in defaults that app and widget
// share.
//   (1) Defaults lie readable in a file: no secret goes there.

import Foundation

/// Whether the app's last connection succeeded, and where the last one did.
///
/// The app saves it, and the widget shows it.
public struct ConnectionStatus: Hashable, Sendable {
    /// The application group of app and widget, which names the defaults that they share.
    public static let suiteName = "group.com.DaraConsultingInc.LGTVRemoteWidget"

    private enum Key {
        static let isConnected = "isConnected"
        static let lastAddress = "lastAddress"
    }

    /// Whether the app's last connection succeeded.
    public var isConnected: Bool
    /// The IP address of the last successful connection; nil if there was none.
    public var lastAddress: String?

    /// Makes a status.
    ///
    /// - Parameters:
    ///   - isConnected: Whether the last connection succeeded.
    ///   - lastAddress: The IP address of the last one that did.
    public init(isConnected: Bool = false, lastAddress: String? = nil) {
        self.isConnected = isConnected
        self.lastAddress = lastAddress
    }

    /// Reads the status. Without one, the app has never connected.
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
