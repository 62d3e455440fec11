// SelectionOptions: the options that select existing items.

import ArgumentParser
import KeychainCore

struct SelectionOptions: ParsableArguments {
    @OptionGroup var key: KeyOptions

    @Option(help: ArgumentHelp("The label.", valueName: "text"))
    var label: String?

    @Option(
        help: ArgumentHelp(
            "The protection class, as shown by `keychainctl list`.", valueName: "class"))
    var accessible: AccessibilityName?

    @Option(
        name: .customLong("class"),
        help: ArgumentHelp("Only items of this class.", valueName: "class"))
    var className: ClassName?

    @Option(
        help: ArgumentHelp(
            "The item with this persistent reference, 32 hexadecimal digits, as shown by "
                + "`keychainctl info`.",
            valueName: "hex"))
    var reference: ReferenceArgument?

    mutating func validate() throws {
        try key.requireOneName()
        if let className, let implied = key.itemClass, implied != className.itemClass {
            throw ValidationError(
                "--class \(className.rawValue) conflicts with the other arguments, which apply to "
                    + "\(ClassName(implied).rawValue) passwords.")
        }
        if let className, !Self.holds(attributes, className.itemClass) {
            throw ValidationError("--account applies only to passwords.")
        }
    }

    /// Whether items of a class can have the attributes.
    private static func holds(_ attributes: Attributes, _ itemClass: ItemClass) -> Bool {
        attributes.keys.allSatisfy(itemClass.has)
    }

    /// Whether the selection is limited by anything other than the class.
    var isNarrowed: Bool {
        !attributes.isEmpty || key.group != nil || key.synchronizable != nil
            || accessible != nil || reference != nil
    }

    /// - Throws: `ValidationError` if the selection is not narrowed.
    func requireNarrowed() throws {
        guard isNarrowed else {
            throw ValidationError(
                "Name the item with --service, --server, --account or another option.")
        }
    }

    private var attributes: Attributes {
        var attributes = key.attributes
        attributes[.label] = label.map { .string($0) }
        return attributes
    }

    /// The queries for the selection, one for each class that may be meant.
    var queries: [ItemQuery] {
        let attributes = attributes
        let classes =
            (key.itemClass ?? className?.itemClass).map { [$0] }
            ?? ItemClass.allCases.filter { Self.holds(attributes, $0) }
        return classes.map { itemClass in
            ItemQuery(
                itemClass: itemClass, attributes: attributes, accessGroup: key.group,
                protection: accessible?.protection, isSynchronizable: key.synchronizable,
                reference: reference?.reference)
        }
    }
}

struct ReferenceArgument: ExpressibleByArgument {
    let reference: ItemReference

    init?(argument: String) {
        let digits = argument.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 2 * ItemReference.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        guard let reference = ItemReference(bytes: bytes) else { return nil }
        self.reference = reference
    }
}
