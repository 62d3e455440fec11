// SignInKey: the names of what the app keeps. There are no such names elsewhere.

/// The name of a secret of the app: the account of a generic password.
public enum SignInKey: String, CaseIterable, Sendable {
    /// Who is signed in.
    case userIdentifier = "com.steeven.mysubguard.userIdentifier"

    /// The service of all of them (`kSecAttrService`).
    public static let service = "com.steeven.mysubguard"
}
