// Entitlements: the property list that says which access groups a program has.
// The keys and their order are those of Apple's server_entitlement_helpers.c.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

package struct Entitlements: Hashable, Sendable {
    /// The largest list that is read.
    package static let byteLimit = 1 << 20

    /// The groups in order of precedence; the first is where new items go.
    package let accessGroups: AccessGroups
    /// Everything that the list says, with variables expanded where their values are known.
    package let values: [String: PropertyListValue]

    package init(accessGroups: AccessGroups, values: [String: PropertyListValue] = [:]) {
        self.accessGroups = accessGroups
        self.values = values
    }

    /// Reads a property list, XML or binary, as Xcode writes it.
    ///
    /// `$(AppIdentifierPrefix)` and `$(TeamIdentifierPrefix)` become the team identifier that the
    /// list names in `com.apple.developer.team-identifier`, and a dot; or nothing without one.
    ///
    /// - Parameters:
    ///   - propertyList: The file's bytes, 1 MiB at the most.
    ///   - name: What to call the list in an error.
    /// - Throws: `missingEntitlement` for anything that is no such list.
    package init(propertyList: Data, name: String) throws(KeychainFailure) {
        func failure(_ what: String) -> KeychainFailure {
            .missingEntitlement("The entitlements \(name) \(what).")
        }
        guard propertyList.count <= Self.byteLimit else { throw failure("are larger than 1 MiB") }
        guard PropertyListValue.isReadable(propertyList) else {
            throw failure("hold too many arrays and dictionaries")
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
                throw failure("hold something else than text under \(key)")
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
