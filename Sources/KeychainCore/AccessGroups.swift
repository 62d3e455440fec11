// AccessGroups: the access groups whose items a caller can see, and the group of the items it adds.
//   (1) The name of a program matters only if the program has no entitlements and the query of its
//       request identifies no particular items (`ItemQuery.isOfClassAlone`). The name then
//       determines which items an update or deletion affects, and which earlier versions a request
//       finds. The name is not a secret, and a program that can choose its name gains access to no
//       item.

/// The access groups of one caller, in the order of its entitlements.
package struct AccessGroups: Hashable, Sendable {
    /// The group of hardware tokens. A caller with this group can read its items; no caller can
    /// write them.
    package static let token = "com.apple.token"
    /// The entry that stands for all groups.
    package static let wildcard = "*"
    /// The group of programs without entitlements.
    package static let shared = "default"
    /// The allowed length of a program's name, which is the name of its file, in bytes of UTF-8.
    package static let programSizes = 1...255

    /// The groups in order of preference, without the wildcard.
    package let names: [String]
    /// Whether the caller can use all groups.
    package let includesAll: Bool
    /// The name of a program without entitlements. Items that the program adds are marked with this
    /// name. If the query of an update, of a deletion or of a request for earlier versions
    /// identifies no particular items, the request applies only to items with this mark. `nil` if
    /// the caller has entitlements, or is a tool that sees all groups. Empty if the name is
    /// unknown: then items are not marked, and a request with such a query applies to no items.
    package let program: String?

    package init(_ names: [String], program: String? = nil) {
        self.program = program
        var seen: Set<String> = []
        let unique = names.filter { $0 != Self.wildcard && seen.insert($0).inserted }
        // The token group comes last, wherever it was named, because it is never the default.
        self.names =
            unique.filter { $0 != Self.token } + unique.filter { $0 == Self.token }
        self.includesAll = names.contains(Self.wildcard)
    }

    /// Returns the groups of a caller without entitlements.
    ///
    /// - Parameter path: The file that the caller's process executes, as `/proc/PID/exe` reports
    ///   it. For a script this is the interpreter. `nil` if the file is unknown.
    /// - Returns: The ``shared`` group, with the name of the file as the name of the program.
    package static func withoutEntitlements(executable path: String?) -> AccessGroups {
        let name = programName(ofExecutable: path)
        return AccessGroups(
            [shared], program: programSizes.contains(name.utf8.count) ? name : "")
    }

    /// Returns the name of the file that a process executes, from the path as `/proc/PID/exe`
    /// reports it. Empty if the path is unknown.
    package static func programName(ofExecutable path: String?) -> String {
        var name = path?.split(separator: "/").last.map { String($0) } ?? ""
        // The kernel appends this mark if the file was replaced or removed while the program runs.
        let mark = " (deleted)"
        if name.hasSuffix(mark) { name.removeLast(mark.count) }
        return name
    }

    package var isEmpty: Bool { names.isEmpty && !includesAll }

    package func contains(_ name: String) -> Bool {
        includesAll || names.contains(name)
    }

    package func canWrite(_ name: String) -> Bool {
        name != Self.token && contains(name)
    }

    /// The group of an item that is added without a group; `nil` if the caller has no group that it
    /// can write to, or only the wildcard.
    package var defaultGroup: String? {
        names.first { $0 != Self.token }
    }
}
