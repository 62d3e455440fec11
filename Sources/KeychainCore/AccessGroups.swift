// AccessGroups: whose items a caller may see and where its own are put.
//   (1) What a caller without entitlements may empty is decided by the name of its program. The name
//       has no other meaning: it is no secret, and a program that may choose it gains no item by
//       it.

/// The access groups of one caller, in the order of its entitlements.
package struct AccessGroups: Hashable, Sendable {
    /// The group of hardware tokens: every caller with it reads, none writes.
    package static let token = "com.apple.token"
    /// The entry that stands for every group.
    package static let wildcard = "*"
    /// The group of programs that come without entitlements.
    package static let shared = "default"
    /// How many bytes of UTF-8 the name of a program has, as that of its file.
    package static let programSizes = 1...255

    /// The groups, most preferred first, without the wildcard.
    package let names: [String]
    /// Whether the caller may use any group.
    package let includesAll: Bool
    /// The name of a program without entitlements: what it adds is marked with it, and a change or
    /// deletion by class alone is of what is marked so. nil: the caller has entitlements, or is a tool
    /// that sees every group. Empty: the name isn't known, and nothing is marked with it.
    package let program: String?

    package init(_ names: [String], program: String? = nil) {
        self.program = program
        var seen: Set<String> = []
        let unique = names.filter { $0 != Self.wildcard && seen.insert($0).inserted }
        // The token group comes last wherever it was named, so that it is never the default.
        self.names =
            unique.filter { $0 != Self.token } + unique.filter { $0 == Self.token }
        self.includesAll = names.contains(Self.wildcard)
    }

    /// A caller without entitlements.
    ///
    /// - Parameter path: The file that the program's process runs, as `/proc/PID/exe` says. Of a
    ///   script that is the interpreter. nil: it isn't known.
    /// - Returns: The caller, with the file's name as that of its program.
    package static func withoutEntitlements(executable path: String?) -> AccessGroups {
        var name = path?.split(separator: "/").last.map { String($0) } ?? ""
        // What the kernel says of a file that was replaced or removed while it runs.
        let mark = " (deleted)"
        if name.hasSuffix(mark) { name.removeLast(mark.count) }
        return AccessGroups(
            [shared], program: programSizes.contains(name.utf8.count) ? name : "")
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
