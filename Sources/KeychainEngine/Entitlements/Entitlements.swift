// Entitlements: the property list that says which access groups a program has.
// The keys and their order are those of Apple's server_entitlement_helpers.c.

package import Foundation
package import KeychainModel

package struct Entitlements: Hashable, Sendable {
    /// The groups in order of precedence; the first is where new items go.
    package let accessGroups: AccessGroups

    package init(accessGroups: AccessGroups) {
        self.accessGroups = accessGroups
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
        let list: [String: Entry]
        do {
            guard propertyList.count <= 1 << 20 else { throw failure("are larger than 1 MiB") }
            list = try PropertyListDecoder().decode([String: Entry].self, from: propertyList)
        } catch {
            throw failure("are not a property list with a dictionary")
        }
        let prefix =
            switch list["com.apple.developer.team-identifier"] {
            case .texts(let team): team.first.map { $0 + "." } ?? ""
            default: ""
            }
        var names: [String] = []
        func append(_ key: String) throws(KeychainFailure) {
            guard let entry = list[key] else { return }
            guard case .texts(let texts) = entry else {
                throw failure("hold something else than text under \(key)")
            }
            for text in texts {
                let expanded =
                    text
                    .replacingOccurrences(of: "$(AppIdentifierPrefix)", with: prefix)
                    .replacingOccurrences(of: "$(TeamIdentifierPrefix)", with: prefix)
                guard !expanded.contains("$(") else {
                    throw failure("name a variable under \(key) that can't be expanded")
                }
                if !expanded.isEmpty { names.append(expanded) }
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
    }

    /// A value of the list, as far as it matters here.
    private enum Entry: Decodable {
        case texts([String])
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .texts([text])
            } else if let texts = try? container.decode([String].self) {
                self = .texts(texts)
            } else {
                self = .other
            }
        }
    }
}
