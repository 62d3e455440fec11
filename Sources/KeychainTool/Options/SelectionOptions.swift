// SelectionOptions: the options that choose among the items that are there.

import ArgumentParser
import KeychainCore

struct SelectionOptions: ParsableArguments {
    @OptionGroup var key: KeyOptions

    @Option(help: ArgumentHelp("The label.", valueName: "text"))
    var label: String?

    @Option(
        help: ArgumentHelp(
            "The protection class, as `keychainctl list` shows it.", valueName: "class"))
    var accessible: AccessibilityName?

    @Option(
        name: .customLong("class"),
        help: ArgumentHelp("Items of one class only.", valueName: "class"))
    var className: ClassName?

    @Option(
        help: ArgumentHelp(
            "The one item with this persistent reference, 32 digits, as `keychainctl info` shows it.",
            valueName: "hex"))
    var reference: ReferenceArgument?

    mutating func validate() throws {
        if let className, let implied = key.itemClass, implied != className.itemClass {
            throw ValidationError(
                "--class \(className.rawValue) contradicts the other options, which are for "
                    + "\(ClassName(implied).rawValue) passwords.")
        }
        if let className, !Self.holds(attributes, className.itemClass) {
            throw ValidationError("--account is for passwords.")
        }
    }

    /// Whether items of a class can have the attributes.
    private static func holds(_ attributes: Attributes, _ itemClass: ItemClass) -> Bool {
        attributes.keys.allSatisfy(itemClass.has)
    }

    /// Whether anything but the class narrows the choice.
    var isNarrowed: Bool {
        !attributes.isEmpty || key.group != nil || key.synchronizable != nil
            || accessible != nil || reference != nil
    }

    private var attributes: Attributes {
        var attributes = key.attributes
        attributes[.label] = label.map { .string($0) }
        return attributes
    }

    /// One query for each class that may be meant.
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
        let digits = argument.utf8.map(Self.digit)
        guard digits.count == 2 * ItemReference.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        guard let reference = ItemReference(bytes: bytes) else { return nil }
        self.reference = reference
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
