// DatabaseIdentity: equal only for values that refer to the same database with the same access
// groups.

package import Foundation

package enum DatabaseIdentity: Hashable, Sendable {
    case `default`
    /// The path, and the access groups or `nil` for those of the entitlements.
    case folder(String, [String]?)
    /// A database that equals only copies of itself.
    case other(UUID)

    package static func unique() -> DatabaseIdentity { .other(UUID()) }
}
