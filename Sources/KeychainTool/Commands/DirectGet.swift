// DirectGet: parses the most common forms of `get` without the argument parser.
//   (1) A script may run `get` for every secret that it needs. The parser first examines all
//       options of all commands. A `get` without this step takes about a quarter less time.
//       Decision 29 has the measurements.
//   (2) Only arguments that the parser would interpret in the same way are parsed here; for all
//       others the result is `nil`, and the parser is used. A test compares the two.

import KeychainCore

enum DirectGet {
    /// - Parameter arguments: The arguments of the process, without its name.
    /// - Returns: `nil` if the parser must be used.
    static func request(_ arguments: [String]) -> GetRequest? {
        guard arguments.first == "get" || arguments.first == "show" else { return nil }
        var options = Options()
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            let isRead =
                switch argument {
                case "-s", "--service": take(&rest, into: &options.service)
                case "-a", "--account": take(&rest, into: &options.account)
                case "-g", "--group": take(&rest, into: &options.group)
                case "--server": take(&rest, into: &options.server)
                case "--json": set(&options.json)
                case "--raw": set(&options.raw)
                case "--no-prompt": set(&options.noPrompt)
                default: options.name(argument)
                }
            guard isRead else { return nil }
        }
        return options.request
    }

    /// Takes the value of an option. Returns `false` in cases that are left to the parser: a
    /// missing value, one that looks like an option, or a repeated option.
    private static func take(_ rest: inout ArraySlice<String>, into value: inout String?) -> Bool {
        guard value == nil, let next = rest.popFirst(), !next.hasPrefix("-") else { return false }
        value = next
        return true
    }

    private static func set(_ flag: inout Bool) -> Bool {
        defer { flag = true }
        return !flag
    }

    private struct Options {
        var service: String?
        var server: String?
        var account: String?
        var group: String?
        var json = false
        var raw = false
        var noPrompt = false
        var item: ItemName?

        /// Takes the word that names the item.
        mutating func name(_ argument: String) -> Bool {
            guard item == nil, !argument.hasPrefix("-"), let item = ItemName(argument) else {
                return false
            }
            self.item = item
            return true
        }

        /// The request, or `nil` if the class doesn't follow from the options, or if both a word
        /// and options name the item.
        var request: GetRequest? {
            if let item {
                guard service == nil, account == nil, server == nil else { return nil }
                return request(for: item.query(in: group))
            }
            let itemClass: ItemClass
            switch (service, server) {
            case (.some, nil): itemClass = .genericPassword
            case (nil, .some): itemClass = .internetPassword
            default: return nil
            }
            var attributes: Attributes = [:]
            attributes[.service] = service.map { .string($0) }
            attributes[.server] = server.map { .string($0) }
            attributes[.account] = account.map { .string($0) }
            let query = ItemQuery(
                itemClass: itemClass, attributes: attributes, accessGroup: group,
                isSynchronizable: nil)
            return request(for: query)
        }

        private func request(for query: ItemQuery) -> GetRequest {
            GetRequest(
                queries: [query], raw: raw, json: json,
                passcode: PasscodeSource(mayAsk: !noPrompt))
        }
    }
}
