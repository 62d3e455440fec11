// FindCommand: finds items by a part of their name or label, without opening a secret.
//   (1) Without --tree and --json, each line names one item in the form that other verbs accept,
//       quoted for a shell.

import ArgumentParser
import FoundationEssentials
import KeychainCore

struct FindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Finds items by part of their name or label.",
        discussion: """
            Case is ignored. If several texts are given, all must match. Each line names one item, \
            quoted for bash, zsh and ksh, so that other verbs accept it as their arguments. No \
            secret is opened.
            """)

    @Argument(help: "Text in the service or server, the account or the label.")
    var text: [String] = []

    @Flag(help: "Matches only the beginning of the name SERVICE/ACCOUNT.")
    var prefix = false

    @Flag(help: "Shows the names as a tree, split at slashes.")
    var tree = false

    @Flag(help: "Writes an array of JSON objects with all attributes.")
    var json = false

    @Option(
        name: .customLong("class"),
        help: ArgumentHelp("Only items of this class.", valueName: "class"))
    var className: ClassName?

    @Option(name: .shortAndLong, help: ArgumentHelp("The access group.", valueName: "name"))
    var group: String?

    @OptionGroup var passcode: PasscodeOptions

    mutating func validate() throws {
        guard !(tree && json) else {
            throw ValidationError("--tree and --json can't be combined.")
        }
    }

    func run() throws {
        let session = try KeychainSession(existing: passcode.source)
        defer { session?.closeIfLogIsLong() }
        let classes = className.map { [$0.itemClass] } ?? ItemClass.allCases
        let queries = classes.map {
            ItemQuery(itemClass: $0, accessGroup: group, isSynchronizable: nil)
        }
        let all = try session?.find(queries) ?? []
        let found = all.filter(isMeant)
        let shown =
            if json {
                JSON.array(found.map { .object($0.members) }).text
            } else if tree {
                NameTree(found).text
            } else {
                ItemNames(all, group: group).lines(for: found).map { $0 + "\n" }.joined()
            }
        if !found.isEmpty || json { try Output.print(shown) }
        if session?.hasSkippedDamage(queries) == true {
            throw ControlFailure(
                .damaged,
                "Damaged items are not found. `keychainctl check` lists them.")
        }
    }

    private func isMeant(_ item: ItemSnapshot) -> Bool {
        let name = item.nameParts.joined(separator: "/")
        let fields = prefix ? [name] : item.nameParts + [name, item.plainText(of: .label)]
        return text.map { $0.lowercased() }.allSatisfy { part in
            fields.contains {
                prefix ? $0.lowercased().hasPrefix(part) : $0.lowercased().contains(part)
            }
        }
    }
}

extension ItemSnapshot {
    /// The attribute's value as it is stored, if it is text; otherwise an empty string.
    func plainText(of attribute: Attribute) -> String {
        if case .string(let text) = attributes[attribute] { text } else { "" }
    }

    /// The first two attributes of the primary key, such as service and account, as far as they are
    /// text and not empty.
    var nameParts: [String] {
        [itemClass.firstKey, itemClass.secondKey].map(plainText).filter { !$0.isEmpty }
    }

    /// The argument `SERVICE` or `SERVICE/ACCOUNT` that names a generic password, or `nil` if no
    /// such argument can.
    var word: String? {
        guard itemClass == .genericPassword else { return nil }
        return ItemName.text(service: plainText(of: .service), account: plainText(of: .account))
    }
}

// MARK: - Lines

/// Determines how other verbs can name each item of a keychain, or of one access group.
struct ItemNames {
    /// The number of items that a word or a set of options matches.
    private var counts: [[String]: Int] = [:]
    private let group: String?

    /// `group` is the group of all the items, or `nil` if they are from every group.
    init(_ items: [ItemSnapshot], group: String?) {
        self.group = group
        for item in items {
            // A service or server without an account matches the items of all its accounts.
            counts[Self.key(item), default: 0] += 1
            if !item.plainText(of: .account).isEmpty {
                counts[Self.key(item, withAccount: false), default: 0] += 1
            }
        }
    }

    private static func key(_ item: ItemSnapshot, withAccount: Bool = true) -> [String] {
        [item.itemClass.name, item.plainText(of: item.itemClass.firstKey)]
            + (withAccount ? [item.plainText(of: item.itemClass.secondKey)] : [""])
    }

    func lines(for items: [ItemSnapshot]) -> [String] { items.map(line) }

    private func line(_ item: ItemSnapshot) -> String {
        guard let name = name(of: item), group?.hasPrefix("-") != true else {
            return "--reference \(item.reference)"
        }
        return name + (group.map { " --group \(shellQuoted($0))" } ?? "")
    }

    /// The word or the options that name this item and no other in the group, or `nil` if none do.
    private func name(of item: ItemSnapshot) -> String? {
        guard counts[Self.key(item)] == 1 else { return nil }
        switch item.itemClass {
        case .genericPassword:
            guard let word = item.word, !word.hasPrefix("-") else { return nil }
            return shellQuoted(word)
        case .internetPassword:
            let server = item.plainText(of: .server)
            guard !server.isEmpty, !server.hasPrefix("-") else { return nil }
            let account = item.plainText(of: .account)
            guard !account.hasPrefix("-") else { return nil }
            return "--server \(shellQuoted(server))"
                + (account.isEmpty ? "" : " --account \(shellQuoted(account))")
        case .certificate, .key: return nil
        }
    }
}

// MARK: - A tree

/// A tree of names, split at slashes. The last node of each branch is an item; other nodes may be
/// items, too. An item without a name, such as a certificate, is shown by its reference.
struct NameTree {
    private struct Node {
        let name: String
        var children: [Node] = []

        mutating func insert(_ parts: ArraySlice<String>) {
            guard let first = parts.first else { return }
            let index = children.firstIndex { $0.name == first } ?? children.count
            if index == children.count { children.append(Node(name: first)) }
            children[index].insert(parts.dropFirst())
        }

        func lines(_ indent: String) -> [String] {
            let sorted = children.sorted { $0.name < $1.name }
            return sorted.enumerated().flatMap { index, child in
                let isLast = index == sorted.count - 1
                return [indent + (isLast ? "└── " : "├── ") + printable(child.name)]
                    + child.lines(indent + (isLast ? "    " : "│   "))
            }
        }
    }

    private var root = Node(name: "")

    init(_ items: [ItemSnapshot]) {
        for item in items {
            let account = item.plainText(of: item.itemClass.secondKey)
            let place = item.plainText(of: item.itemClass.firstKey)
            let parts = Self.parts(of: place) + (account.isEmpty ? [] : [account])
            root.insert((parts.isEmpty ? [item.reference.description] : parts)[...])
        }
    }

    var text: String {
        root.children.sorted { $0.name < $1.name }
            .flatMap { [printable($0.name)] + $0.lines("") }.map { $0 + "\n" }.joined()
    }

    /// Splits a name at slashes. A leading slash, or one that follows another, belongs to the next
    /// part. Slashes at the end are a separate part. A scheme and its host are one part.
    static func parts(of place: String) -> [String] {
        var parts: [String] = []
        var rest = place[...]
        var pending = ""
        if let scheme = place.firstRange(of: "://") {
            pending = String(place[..<scheme.upperBound])
            rest = place[scheme.upperBound...]
        }
        for part in rest.split(separator: "/", omittingEmptySubsequences: false) {
            guard !part.isEmpty else {
                pending += "/"
                continue
            }
            parts.append(pending + part)
            pending = ""
        }
        // If `split` returned only empty strings, it returned one more than there are slashes.
        if parts.isEmpty { pending = String(pending.dropLast()) }
        if !pending.isEmpty { parts.append(pending) }
        return parts
    }
}
