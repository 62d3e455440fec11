// ListCommand: lists items without opening a secret.

import ArgumentParser
import KeychainCore

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists items with their attributes, in the order in which they were added.",
        discussion: "No secret is opened. Without options, all items are listed.",
        aliases: ["ls"])

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Writes an array of JSON objects with all attributes.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        let session = try KeychainSession(existing: passcode.source)
        defer { session?.closeIfLogIsLong() }
        let queries = selection.queries
        let items = try session?.find(queries) ?? []
        try show(items)
        if session?.hasSkippedDamage(queries) == true {
            throw ControlFailure(
                .damaged,
                "Damaged items are missing from this list. `keychainctl check` lists them.")
        }
    }

    private func show(_ items: [ItemSnapshot]) throws {
        if json {
            return try Output.print(JSON.array(items.map { .object($0.members) }).text)
        }
        guard !items.isEmpty else { return }
        try Output.print(table([Self.heading(of: items)] + items.map(Self.row)))
    }

    /// The column headings for the classes that are listed.
    private static func heading(of items: [ItemSnapshot]) -> [String] {
        let classes = Set(items.map(\.itemClass))
        var first: [String] = []
        var second: [String] = []
        if !classes.isDisjoint(with: [.genericPassword, .internetPassword]) {
            first += ["SERVICE", "SERVER"]
            second.append("ACCOUNT")
        }
        if classes.contains(.certificate) {
            first.append("ISSUER")
            second.append("SERIAL NUMBER")
        }
        if classes.contains(.key) {
            first.append("KEY")
            second.append("TAG")
        }
        return ["CLASS", either(first), either(second), "GROUP", "LABEL", "ACCESSIBLE", "MODIFIED"]
    }

    private static func either(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " OR " + last
    }

    private static func row(of item: ItemSnapshot) -> [String] {
        let modified =
            if case .date(let seconds) = item.attributes[.modificationDate] {
                timestamp(seconds)
            } else { "" }
        return [
            ClassName(item.itemClass).rawValue, place(of: item),
            item.text(of: item.itemClass.secondKey),
            printable(item.accessGroup), item.text(of: .label),
            item.protection.commandLineName + (item.isSynchronizable ? ", synchronizable" : "")
                + (item.constraints.needsAuthentication ? ", access control" : ""),
            modified,
        ]
    }

    /// The item's service, server address, issuer or kind of key, depending on its class.
    private static func place(of item: ItemSnapshot) -> String {
        switch item.itemClass {
        case .genericPassword: item.text(of: .service)
        case .internetPassword: address(of: item)
        case .certificate: item.text(of: .issuer)
        case .key:
            [Attribute.type, .keySizeInBits, .keyClass].map { item.text(of: $0) }
                .filter { !$0.isEmpty }.joined(separator: " ")
        }
    }

    /// The parts of a server's address that are set.
    private static func address(of item: ItemSnapshot) -> String {
        var place = item.text(of: .server)
        let networkProtocol = item.text(of: .protocolType)
        if !networkProtocol.isEmpty { place = networkProtocol + "://" + place }
        let port = item.text(of: .port)
        if !port.isEmpty { place += ":" + port }
        return place + item.text(of: .path)
    }
}
