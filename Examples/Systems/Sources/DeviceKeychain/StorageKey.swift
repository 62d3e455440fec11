// StorageKey: the name of everything that this app keeps. There are no such names elsewhere.

/// The name of an item of the app: the account of a generic password.
///
/// Names are reverse-domain names. They can't change between releases.
public struct StorageKey: RawRepresentable, Hashable, Sendable {
    /// The service of all items of the app (`kSecAttrService`).
    public static let service = "com.poopypals.app"

    /// The identifier of this installation.
    public static let deviceId = StorageKey(rawValue: "com.poopypals.app.device.identifier")

    /// Where releases before the keychain kept the identifier, readable for everybody: the suite
    /// of `UserDefaults`, and the key in it.
    public static let oldDefaults = (suite: "com.poopypals.app", deviceId: "deviceId")

    /// The account (`kSecAttrAccount`).
    public let rawValue: String

    /// A key of that name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
