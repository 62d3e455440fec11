// Distinction: lists several matching items, each as the options that select only that item.

import KeychainCore

extension ControlFailure {
    /// The maximum number of items shown.
    private static let shownCount = 20

    /// The error for several matching items where one is required. `hasClassAndLabel`: whether the
    /// command can select items by their class and label.
    static func ambiguous(_ items: [ItemSnapshot], hasClassAndLabel: Bool) -> ControlFailure {
        let options = items.map { $0.distinctions(hasClassAndLabel: hasClassAndLabel) }
        var lines = [
            "\(items.count) items match. Add the options that select one of them:"
        ]
        for (index, own) in options.enumerated().prefix(shownCount) {
            var shown = own.filter { option in !options.allSatisfy { $0.contains(option) } }
            // An item can't be selected by options if all of them also match another item.
            let others = options.indices.filter { $0 != index }
            if others.contains(where: { shown.allSatisfy(options[$0].contains) }) {
                shown = [items[index].referenceOption]
            }
            lines.append("  " + shown.joined(separator: " "))
        }
        if items.count > shownCount {
            lines.append("  … `keychainctl list` with the same options shows all of them.")
        }
        return ControlFailure(.failure, lines.joined(separator: "\n"))
    }
}

extension ItemSnapshot {
    fileprivate var referenceOption: String { "--reference \(reference)" }

    /// Options that match this item, quoted for a shell.
    fileprivate func distinctions(hasClassAndLabel: Bool) -> [String] {
        let named: [(Attribute, String)] = [
            (.service, "service"), (.server, "server"), (.account, "account"),
            (.protocolType, "protocol"), (.port, "port"), (.path, "path"),
            (.securityDomain, "security-domain"), (.authenticationType, "authentication-type"),
            (.label, "label"),
        ]
        var options = hasClassAndLabel ? ["--class \(ClassName(itemClass).rawValue)"] : []
        for (attribute, name) in named where hasClassAndLabel || attribute != .label {
            switch attributes[attribute] {
            case .string(let text)?:
                let value = attributes[attribute].flatMap {
                    NetworkNames.name(of: $0, for: attribute)
                }
                options.append("--\(name) \(shellQuoted(value ?? text))")
            case .number(let number)?:
                options.append("--\(name) \(number)")
            default: break
            }
        }
        options.append("--group \(shellQuoted(accessGroup))")
        options.append(isSynchronizable ? "--synchronizable" : "--no-synchronizable")
        return options
    }
}
