// KeychainKeys: the names of all items of this app. No other file of the app contains these names.

/// The keys of the app's items: the accounts of generic passwords (`kSecAttrAccount`).
///
/// The keys are reverse-domain names and must not change between releases.
public enum KeychainKeys {
    /// The identifier of this installation, as text.
    public static let deviceId = "com.poopypals.deviceId"
    /// The token for the backend, as text.
    public static let supabaseToken = "com.poopypals.supabaseToken"
    /// The time of the app's last synchronization, a `Date` as JSON.
    public static let lastSyncDate = "com.poopypals.lastSyncDate"
}
