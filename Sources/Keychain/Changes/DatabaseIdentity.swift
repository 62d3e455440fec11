// DatabaseIdentity: two `KeychainDatabase` values have equal identities only if they refer to the
// same database with the same access groups.

package import Foundation

package enum DatabaseIdentity: Hashable, Sendable {
    case `default`
    /// The path and the access groups. If the groups are `nil`, the entitlements determine them.
    case folder(String, [String]?)
    /// The identity of one `KeychainDatabase` value and its copies.
    case other(UUID)

    package static func unique() -> DatabaseIdentity { .other(UUID()) }
}
