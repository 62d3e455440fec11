// DuplicateCommand: creates a second item with the secret and the attributes of an existing one.
//   (1) The copy has the same access group, protection class and access control: it is never easier
//       to open than the original.
//   (2) With --replace, an item that has the new name is changed in one transaction.

import ArgumentParser
import KeychainCore
import KeychainRuntime
import KeychainCrypto

struct DuplicateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicate",
        abstract: "Copies an item to another name.",
        usage: "keychainctl duplicate [<options>] <item> <new-name>",
        discussion: """
            The new name is SERVICE/ACCOUNT; SERVICE alone keeps the account. For an internet \
            password it is SERVER/ACCOUNT. The copy has the item's secret, attributes, access \
            group, protection class and access control, but a new reference and new dates. An item \
            that --replace replaces keeps its reference, its creation date, and the attributes \
            that the copied item doesn't have.
            """,
        aliases: ["cp"])

    @OptionGroup var options: TargetOptions

    @Argument(help: ArgumentHelp("The name of the copy.", valueName: "new-name"))
    var target: String?

    @Flag(
        name: [.customShort("f"), .customLong("replace")],
        help: "Replaces an item that already has the new name.")
    var replace = false

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    mutating func validate() throws {
        _ = try NewName(options.target(target, "name of the copy"))
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
    }

    func run() throws {
        let name = try NewName(options.target(target, "name of the copy"))
        guard let session = try KeychainSession(existing: application.source(with: passcode)) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.close() }
        ProcessProtection.beginHoldingSecrets()
        let item = try session.findOne(options.queries, hasClassAndLabel: false)
        let key = try name.attributes(of: item.itemClass)
        guard key.contains(where: { $1 != item.attributes[$0] }) else {
            throw ControlFailure(.failure, "The new name is the name of the item itself.")
        }
        do {
            try session.copy(item, to: key, replacing: replace)
        } catch let failure as KeychainFailure where failure.status == .duplicateItem {
            throw ControlFailure.occupied
        }
    }
}

extension KeychainSession {
    fileprivate func copy(_ item: ItemSnapshot, to key: Attributes, replacing: Bool) throws {
        try authenticating { authorization throws(KeychainFailure) in
            let query = ItemQuery(
                itemClass: item.itemClass, isSynchronizable: nil, reference: item.reference,
                authorization: authorization)
            let found = try keychain.perform(
                FindItems(query, Retrieval(includesData: true)), as: caller)
            guard let opened = found.first else { throw .itemNotFound }
            var attributes = opened.attributes.merging(key) { $1 }
            attributes[.creationDate] = nil
            attributes[.modificationDate] = nil
            let copy = NewItem(
                itemClass: item.itemClass, attributes: attributes,
                accessGroup: opened.accessGroup, protection: opened.protection,
                constraints: opened.constraints, isSynchronizable: opened.isSynchronizable,
                data: opened.data, authorization: authorization)
            guard replacing, try occupant(of: opened, with: key) != nil else {
                _ = try keychain.perform(AddItem(copy), as: caller)
                return
            }
            var primary = attributes.filter { item.itemClass.primaryKey.contains($0.key) }
            primary.merge(key) { $1 }
            let target = ItemQuery(
                itemClass: item.itemClass, attributes: primary, accessGroup: opened.accessGroup,
                isSynchronizable: opened.isSynchronizable, authorization: authorization)
            let changes = ItemChanges(
                attributes: attributes, protection: opened.protection,
                constraints: opened.constraints, data: opened.data)
            _ = try keychain.perform(
                PutItem(copy, orChange: target, changes, keepsVersions: true), as: caller)
        }
    }
}
