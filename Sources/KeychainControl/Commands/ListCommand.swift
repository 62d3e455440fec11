// ListCommand: lists items without opening a secret.

import ArgumentParser
import KeychainModel

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists items by their attributes, in the order in which they were added.",
        discussion: "No secret is opened. Without options all items are listed.")

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Writes an array of JSON objects with all attributes.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        let items = try Session(existing: passcode.source)?.find(selection.queries) ?? []
        try show(items)
        if EngineLog.tellsOfDamage {
            throw ControlFailure(
                .damaged,
                "Damaged items are missing from this list. `keychainctl check` names them.")
        }
    }

    private func show(_ items: [Item]) throws {
        if json {
            return try Output.print(JSON.array(items.map { .object($0.members) }).text)
        }
        guard !items.isEmpty else { return }
        let heading = [
            "CLASS", "SERVICE OR SERVER", "ACCOUNT", "GROUP", "LABEL", "ACCESSIBLE", "MODIFIED",
        ]
        try Output.print(table([heading] + items.map(Self.row)))
    }

    private static func row(of item: Item) -> [String] {
        let modified =
            if case .date(let seconds) = item.attributes[.modificationDate] {
                timestamp(seconds)
            } else { "" }
        return [
            ClassName(item.itemClass).rawValue, place(of: item), item.text(of: .account),
            printable(item.accessGroup), item.text(of: .label),
            item.protection.commandLineName + (item.isSynchronizable ? ", synchronizable" : ""),
            modified,
        ]
    }

    /// The service, or the parts of a server's address that are set.
    private static func place(of item: Item) -> String {
        guard item.itemClass == .internetPassword else { return item.text(of: .service) }
        var place = item.text(of: .server)
        let networkProtocol = item.text(of: .protocolType)
        if !networkProtocol.isEmpty { place = networkProtocol + "://" + place }
        let port = item.text(of: .port)
        if !port.isEmpty, port != "0" { place += ":" + port }
        return place + item.text(of: .path)
    }
}
