// Entitlements: the property list that states a program's access groups.
// The keys and their order are those of Apple's server_entitlement_helpers.c.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

package struct Entitlements: Hashable, Sendable {
    /// The maximum size of a list, in bytes.
    package static let byteLimit = 1 << 20

    /// The groups in order of precedence. An item that is added without a group goes into the first
    /// that is not the group of hardware tokens.
    package let accessGroups: AccessGroups
    /// All entries of the list, with `$(AppIdentifierPrefix)` and `$(TeamIdentifierPrefix)`
    /// expanded in their values.
    package let values: [String: PropertyListValue]

    package init(accessGroups: AccessGroups, values: [String: PropertyListValue] = [:]) {
        self.accessGroups = accessGroups
        self.values = values
    }

    /// Reads a property list in XML or binary form, as Xcode writes it.
    ///
    /// `$(AppIdentifierPrefix)` and `$(TeamIdentifierPrefix)` are replaced by the list's
    /// `com.apple.developer.team-identifier` followed by a dot, or by nothing if the list has none.
    ///
    /// - Parameters:
    ///   - propertyList: The contents of the file, at most 1 MiB.
    ///   - name: The name of the list in error messages.
    /// - Throws: `missingEntitlement` if the bytes are not such a list or are more than 1 MiB; if a
    ///   list that is not in binary form contains a zero byte, or too many arrays and dictionaries;
    ///   or if an access group is not text or contains a variable that can't be expanded.
    package init(propertyList: Data, name: String) throws(KeychainFailure) {
        func failure(_ what: String) -> KeychainFailure {
            .missingEntitlement("The entitlements \(name) \(what).")
        }
        guard propertyList.count <= Self.byteLimit else { throw failure("are larger than 1 MiB") }
        guard PropertyListValue.isReadable(propertyList) else {
            throw failure("contain too many arrays and dictionaries, or aren't UTF-8")
        }
        var list: [String: PropertyListValue]
        do {
            list = try PropertyListDecoder().decode(
                [String: PropertyListValue].self, from: propertyList)
        } catch {
            throw failure("are not a property list with a dictionary")
        }
        let team = list["com.apple.developer.team-identifier"]?.texts?.first
        let prefix = team.map { $0 + "." } ?? ""
        list = list.mapValues { value in
            value.mapTexts {
                $0.replacing("$(AppIdentifierPrefix)", with: prefix)
                    .replacing("$(TeamIdentifierPrefix)", with: prefix)
            }
        }
        var names: [String] = []
        func append(_ key: String) throws(KeychainFailure) {
            guard let value = list[key] else { return }
            guard let texts = value.texts else {
                throw failure("contain a value other than text under \(key)")
            }
            for text in texts {
                guard !text.contains("$(") else {
                    throw failure("name a variable under \(key) that can't be expanded")
                }
                if !text.isEmpty { names.append(text) }
            }
        }
        try append("keychain-access-groups")
        try append("com.apple.developer.associated-application-identifier")
        try append("application-identifier")
        if list["application-identifier"] == nil {
            try append("com.apple.application-identifier")
        }
        try append("com.apple.security.application-groups")
        accessGroups = AccessGroups(names)
        values = list
    }
}
