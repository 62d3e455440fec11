// KeychainKeys: the name of everything that this app keeps. There are no such names elsewhere.

/// The keys of the app's items: the accounts of generic passwords (`kSecAttrAccount`).
///
/// They are reverse-domain names and can't change between releases.
public enum KeychainKeys {
    /// The identifier of this installation, as text.
    public static let deviceId = "com.poopypals.deviceId"
    /// The token of the backend, as text.
    public static let supabaseToken = "com.poopypals.supabaseToken"
    /// When the app last synchronized its data, as a Codable `Date`.
    public static let lastSyncDate = "com.poopypals.lastSyncDate"
}
