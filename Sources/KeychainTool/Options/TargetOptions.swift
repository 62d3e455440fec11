// TargetOptions: the options and arguments of commands that change or copy one item: its name,
// followed by one more word, such as its new name.
//   (1) If options name the item, the additional word is the only word, and the parser assigns it
//       to the item argument. `TargetOptions` treats it as the additional word.

import ArgumentParser
import KeychainCore
import KeychainRuntime

struct TargetOptions: ParsableArguments {
    @OptionGroup var key: KeyOptions

    @Option(
        help: ArgumentHelp(
            "The item with this persistent reference, 32 hexadecimal digits, as shown by "
                + "`keychainctl info`.",
            valueName: "hex"))
    var reference: ReferenceArgument?

    private var isNamedByOptions: Bool { key.isNamedByOptions || reference != nil }

    /// The additional word. If options name the item, the parser has assigned the word to the item
    /// argument.
    ///
    /// - Throws: `ValidationError` unless exactly one item and one word are given.
    func target(_ word: String?, _ name: String) throws -> String {
        if isNamedByOptions, word != nil {
            throw ValidationError("Name the item by SERVICE/ACCOUNT or by options, not by both.")
        }
        guard isNamedByOptions || key.item.map({ ItemName($0) != nil }) ?? true else {
            throw ValidationError("The service is missing. Write SERVICE/ACCOUNT.")
        }
        guard key.item != nil, let target = isNamedByOptions ? key.item : word else {
            throw ValidationError("Name the item, followed by the \(name).")
        }
        return target
    }

    /// The queries for the item, one for each class that may be meant.
    var queries: [ItemQuery] {
        var key = key
        if isNamedByOptions { key.item = nil }
        let attributes = key.attributes
        let classes =
            key.itemClass.map { [$0] }
            ?? ItemClass.allCases.filter { attributes.keys.allSatisfy($0.has) }
        return classes.map { itemClass in
            ItemQuery(
                itemClass: itemClass, attributes: attributes, accessGroup: key.group,
                isSynchronizable: key.synchronizable, reference: reference?.reference)
        }
    }
}

// MARK: - The target

/// The new name of an item.
struct NewName {
    private let name: ItemName

    /// - Throws: `ValidationError` if the word contains no service.
    init(_ word: String) throws {
        guard let name = ItemName(word) else {
            throw ValidationError("The service of the new name is missing. Write SERVICE/ACCOUNT.")
        }
        self.name = name
    }

    /// The attributes that the name sets. If the name has no account, the item keeps its account.
    ///
    /// - Throws: ``ControlFailure`` for a certificate or key, whose primary key can't be changed in
    ///   this way.
    func attributes(of itemClass: ItemClass) throws(ControlFailure) -> Attributes {
        guard itemClass == .genericPassword || itemClass == .internetPassword else {
            throw ControlFailure(
                .failure,
                "A \(ClassName(itemClass).noun) can't be renamed or copied. `keychainctl label` "
                    + "sets its display name.")
        }
        var attributes: Attributes = [itemClass.firstKey: .string(name.service)]
        attributes[itemClass.secondKey] = name.account.map { .string($0) }
        return attributes
    }
}

extension ControlFailure {
    /// An item with the target's name already exists.
    static let occupied = ControlFailure(
        .exists, "An item with that name already exists. --replace replaces it.")
}

extension KeychainSession {
    /// The item that already has the primary key that `item` would get from these attributes, or
    /// `nil` if there is none. If the attributes don't change the primary key, the result is `item`
    /// itself.
    func occupant(
        of item: ItemSnapshot, with attributes: Attributes
    ) throws(KeychainFailure) -> ItemSnapshot? {
        let itemClass = item.itemClass
        let own = item.attributes.merging(attributes) { $1 }
        let query = ItemQuery(
            itemClass: itemClass, attributes: attributes, accessGroup: item.accessGroup,
            isSynchronizable: item.isSynchronizable)
        do throws(KeychainFailure) {
            return try keychain.perform(FindItems(query, Retrieval(limit: nil)), as: caller)
                .first { other in
                    itemClass.primaryKey.allSatisfy { name in
                        let empty = AttributeValue.empty(of: name.kind)
                        return (other.attributes[name] ?? empty).isEqual(to: own[name] ?? empty)
                    }
                }
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return nil
        }
    }
}
