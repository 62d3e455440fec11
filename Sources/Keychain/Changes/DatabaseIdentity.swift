// DatabaseIdentity: whether two databases are one, seen by the same groups.

package import Foundation

package enum DatabaseIdentity: Hashable, Sendable {
    case `default`
    /// The path, and the groups: nil for those of the entitlements.
    case folder(String, [String]?)
    /// Like no other but its copies.
    case other(UUID)

    package static func unique() -> DatabaseIdentity { .other(UUID()) }
}
