// Diagnosis: explains why a program's query finds nothing, or what it finds.
//   (1) Nothing is changed and no secret is opened.
//   (2) Values are compared as the engine compares them, byte by byte and case-sensitively, except
//       in the search for similar names.

import KeychainEngine
import KeychainCore

/// One observation about a query or the keychain.
struct Finding {
    enum Kind: String {
        case found, noKeychain, nothing, locked, damaged, deniedGroup, otherGroup, synchronizable,
            otherAttribute, otherAccessibility, otherClass, tombstone, noSecret, accessControl,
            nearMiss, otherAccounts, otherMachine, boundWithoutRecovery
    }

    let kind: Kind
    let text: String
    var item: ItemSnapshot?

    var json: JSON {
        .object([
            ("kind", .string(kind.rawValue)), ("text", .string(text)),
            ("reference", .optional(item?.reference.description)),
        ])
    }
}

struct Diagnosis {
    let session: KeychainSession
    let selection: SelectionOptions
    /// The access groups of the program whose query is explained.
    let groups: AccessGroups
    private(set) var findings: [Finding] = []

    init(_ session: KeychainSession, _ selection: SelectionOptions, groups: AccessGroups) {
        self.session = session
        self.selection = selection
        self.groups = groups
    }

    private var hasFound: Bool { findings.contains { $0.kind == .found } }
    /// Whether there is an explanation other than damage.
    private var isExplained: Bool { findings.contains { $0.kind != .damaged } }

    mutating func run() throws {
        if let group = selection.key.group, !groups.contains(group) {
            note(
                .deniedGroup,
                "The program may not use the group “\(group)”: a query with it fails with "
                    + "errSecMissingEntitlement (-34018). Its groups are \(list(groups.names)).")
        }
        do {
            for query in selection.queries {
                try examineCandidates(query)
                try examineTombstones(query)
            }
            if !hasFound {
                try examineOtherClass()
                for query in selection.queries { try examineNearMisses(query) }
            }
        } catch let failure as KeychainFailure where failure.status == .interactionNotAllowed {
            note(
                .locked,
                "Items that may match are locked with the passcode: a program that doesn't "
                    + "unlock the keychain gets errSecInteractionNotAllowed (-25308). Provide the "
                    + "passcode for a full diagnosis.")
        } catch let failure as ControlFailure where failure == .lockedWithoutPasscode {
            note(
                .locked,
                "Items that may match are locked: a program that doesn't unlock the keychain gets "
                    + "errSecInteractionNotAllowed (-25308). " + failure.message)
        }
        if findings.isEmpty {
            note(
                .nothing,
                "There is no such item in any group, and none was found in another class or under "
                    + "a similar name.")
        }
    }

    private mutating func note(_ kind: Finding.Kind, _ text: String, _ item: ItemSnapshot? = nil) {
        findings.append(Finding(kind: kind, text: printable(text), item: item))
    }

    /// Returns the matching items. Damage or loss is reported as a finding, once.
    private mutating func find(_ query: ItemQuery) throws -> [ItemSnapshot] {
        do {
            return try session.find([query])
        } catch let failure as KeychainFailure where failure.status == .decode {
            let text = printable(failure.reason)
            if !findings.contains(where: { $0.text == text }) { note(.damaged, failure.reason) }
            return []
        }
    }

    // MARK: Items with the same name

    /// A query for the names only: service or server, and account. If the query contains no name,
    /// all its attributes must match. Group, protection class and synchronizability may differ in
    /// both cases.
    private func relaxed(_ query: ItemQuery) -> ItemQuery {
        let names = [query.itemClass.firstKey, query.itemClass.secondKey]
        let attributes = query.attributes.filter { names.contains($0.key) }
        return ItemQuery(
            itemClass: query.itemClass,
            attributes: attributes.isEmpty ? query.attributes : attributes,
            isSynchronizable: nil, reference: query.reference)
    }

    private mutating func examineCandidates(_ query: ItemQuery) throws {
        for item in try find(relaxed(query)) {
            let before = findings.count
            examine(item, query)
            guard findings.count == before else { continue }
            guard groups.contains(item.accessGroup) else {
                note(.otherGroup, "The item exists, in the group “\(item.accessGroup)”.", item)
                continue
            }
            note(.found, "The query finds the item in the group “\(item.accessGroup)”.", item)
            if !item.hasData {
                note(
                    .noSecret,
                    "It has only attributes and no secret: a query for its data returns none.",
                    item)
            } else if item.constraints.needsAuthentication {
                note(
                    .accessControl,
                    "Its secret is protected by an access control ("
                        + item.constraints.names.joined(separator: ", ")
                        + "): a program that reads it without authentication gets "
                        + "errSecInteractionNotAllowed (-25308) or errSecAuthFailed (-25293).",
                    item)
            }
        }
    }

    private mutating func examine(_ item: ItemSnapshot, _ query: ItemQuery) {
        if let group = query.accessGroup, group != item.accessGroup {
            note(
                .otherGroup, "An item is in the group “\(item.accessGroup)”, not “\(group)”.", item)
        } else if query.accessGroup == nil, !groups.contains(item.accessGroup) {
            note(
                .otherGroup,
                "An item is in the group “\(item.accessGroup)”, which the program can't see: its "
                    + "groups are \(list(groups.names)). Add the group to keychain-access-groups "
                    + "in its entitlements.", item)
        }
        switch (query.isSynchronizable ?? false, item.isSynchronizable) {
        case (false, true):
            note(
                .synchronizable,
                "An item is synchronizable: a program finds it only with kSecAttrSynchronizable "
                    + "set to true or to kSecAttrSynchronizableAny.", item)
        case (true, false):
            note(
                .synchronizable,
                "An item is not synchronizable, so a query for synchronizable items doesn't find "
                    + "it.",
                item)
        default: break
        }
        if let wanted = query.protection, wanted != item.protection {
            note(
                .otherAccessibility,
                "An item has the protection class \(item.protection.commandLineName), not "
                    + "\(wanted.commandLineName). Leave kSecAttrAccessible out of queries.", item)
        }
        for (attribute, wanted) in query.attributes.sorted(by: { $0.key.name < $1.key.name }) {
            let value = item.attributes[attribute] ?? .empty(of: attribute.kind)
            guard !value.isEqual(to: wanted) else { continue }
            let shown = item.text(of: attribute)
            note(
                .otherAttribute,
                "An item has \(shown.isEmpty ? "no" : "another") \(attribute)"
                    + "\(shown.isEmpty ? "" : ": \(shown)").", item)
        }
    }

    private mutating func examineTombstones(_ query: ItemQuery) throws {
        var query = relaxed(query)
        query.isTombstone = true
        guard let item = try find(query).last else { return }
        let date =
            if case .date(let seconds)? = item.attributes[.modificationDate] {
                " on " + timestamp(seconds)
            } else { "" }
        note(.tombstone, "A synchronizable item with this name was deleted\(date).", item)
    }

    // MARK: Items with similar names

    private mutating func examineOtherClass() throws {
        guard let own = selection.key.itemClass,
            let name = selection.key.attributes[own.firstKey]
        else { return }
        let other: ItemClass = own == .genericPassword ? .internetPassword : .genericPassword
        var query = ItemQuery(itemClass: other, isSynchronizable: nil)
        query.attributes[other.firstKey] = name
        query.attributes[.account] = selection.key.attributes[.account]
        for item in try find(query) {
            note(
                .otherClass,
                "The item exists as \(ClassName(other).rawValue) password: a query of class "
                    + "\(own == .genericPassword ? "kSecClassGenericPassword" : "kSecClassInternetPassword")"
                    + " doesn't find it.", item)
        }
    }

    /// The maximum number of accounts that are listed.
    private static let shownAccounts = 10

    private mutating func examineNearMisses(_ query: ItemQuery) throws {
        let names = [query.itemClass.firstKey, query.itemClass.secondKey].compactMap { attribute in
            query.attributes[attribute].map { (attribute, $0) }
        }
        guard !names.isEmpty, !isExplained else { return }
        let everything = try find(ItemQuery(itemClass: query.itemClass, isSynchronizable: nil))
        for item in everything
        where names.allSatisfy({ Self.isLike(item.attributes[$0], $1) }) {
            let differing = names.filter { name, wanted in
                item.attributes[name]?.isEqual(to: wanted) != true
            }
            let texts = differing.map { "\($0.0) “\(item.text(of: $0.0))”" }
            note(
                .nearMiss,
                "An item differs only in case, spaces or Unicode normalization: "
                    + texts.joined(separator: ", ") + ".", item)
        }
        guard let (first, wanted) = names.first, first == query.itemClass.firstKey, !isExplained
        else { return }
        let accounts = everything.filter { $0.attributes[first]?.isEqual(to: wanted) == true }
            .map { "“\($0.text(of: .account))”" }
        guard !accounts.isEmpty else { return }
        let more = accounts.count > Self.shownAccounts ? ", …" : ""
        note(
            .otherAccounts,
            "The \(first) exists with \(counted(accounts.count, "other account")): "
                + accounts.prefix(Self.shownAccounts).joined(separator: ", ") + more + ".")
    }

    /// Whether two texts are equal except for case, surrounding white space and Unicode
    /// normalization.
    static func isLike(_ value: AttributeValue?, _ wanted: AttributeValue) -> Bool {
        guard case .string(let a)? = value, case .string(let b) = wanted else { return false }
        // Swift compares strings by canonical equivalence, whereas the engine compares bytes.
        return trimmed(a.lowercased()) == trimmed(b.lowercased())
    }

    private static func trimmed(_ text: String) -> Substring {
        var rest = text[...]
        while let last = rest.last, last.isWhitespace { rest.removeLast() }
        return rest.drop(while: \.isWhitespace)
    }

    private func list(_ names: [String]) -> String {
        names.isEmpty ? "none" : names.map { "“\($0)”" }.joined(separator: ", ")
    }
}
