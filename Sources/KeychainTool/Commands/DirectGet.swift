// DirectGet: the commonest `get`, read without the argument parser.
//   (1) A script may run `get` for every secret it needs. The parser looks at all options of all
//       commands first, which takes longer than finding and opening the item. Decision 29 has the
//       figures.
//   (2) Only what the parser would read the same way is read here; for anything else the answer
//       is nil, and the parser has its turn. A test holds the two against each other.

import KeychainCore

enum DirectGet {
    /// - Parameter arguments: Those of the process, without its name.
    /// - Returns: nil for what the parser has to read.
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

    /// False for what is the parser's to judge: a value that looks like an option, none at all,
    /// or a second one.
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

        /// The same for the item in one word.
        mutating func name(_ argument: String) -> Bool {
            guard item == nil, !argument.hasPrefix("-"), let item = ItemName(argument) else {
                return false
            }
            self.item = item
            return true
        }

        /// nil where the class doesn't follow from the options.
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
