// DatabaseIdentity: whether two databases are one, seen by the same groups.

import Foundation

enum DatabaseIdentity: Hashable, Sendable {
    case `default`
    /// The path, and the groups: nil for those of the entitlements.
    case folder(String, [String]?)
    /// Like no other but its copies.
    case other(UUID)

    static func unique() -> DatabaseIdentity { .other(UUID()) }
}
