// AccessGroups: whose items a caller may see and where its own are put.

/// The access groups of one caller, in the order of its entitlements.
package struct AccessGroups: Hashable, Sendable {
    /// The group of hardware tokens: everybody with it reads, nobody writes.
    package static let token = "com.apple.token"
    /// The entry that stands for every group.
    package static let wildcard = "*"

    /// The groups, most preferred first, without the wildcard.
    package let names: [String]
    /// Whether the caller may use any group.
    package let includesAll: Bool

    package init(_ names: [String]) {
        var seen: Set<String> = []
        let unique = names.filter { $0 != Self.wildcard && seen.insert($0).inserted }
        // The token group comes last wherever it was named, so that it is never the default.
        self.names =
            unique.filter { $0 != Self.token } + unique.filter { $0 == Self.token }
        self.includesAll = names.contains(Self.wildcard)
    }

    package var isEmpty: Bool { names.isEmpty && !includesAll }

    package func contains(_ name: String) -> Bool {
        includesAll || names.contains(name)
    }

    package func canWrite(_ name: String) -> Bool {
        name != Self.token && contains(name)
    }

    /// Where an item goes that names no group.
    package var defaultGroup: String? {
        names.first { $0 != Self.token }
    }
}
