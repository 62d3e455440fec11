// RenameCommand: changes the name or the label of an item by changing attributes only.
//   (1) The secret is not read. Changing an item with an access control requires the same
//       authentication as opening its secret.
//   (2) An item that already has the new name stays unchanged unless --replace is given. With
//       --replace it is deleted, but only after the engine has found the change to be permitted.
//       Deletion and change are two requests. PutItem, which replaces an item in one transaction,
//       can't be used, because it needs the secret. If the process is killed between the two
//       requests, the deleted item remains as an earlier version, unless the history is set to keep
//       no versions.

import ArgumentParser
import KeychainCore
import KeychainRuntime

struct RenameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Changes the name of an item.",
        usage: "keychainctl rename [<options>] <item> <new-name>",
        discussion: """
            The new name is SERVICE/ACCOUNT; SERVICE alone keeps the account. For an internet \
            password it is SERVER/ACCOUNT. The secret is not read. Of all other attributes, only \
            the modification date changes.
            """,
        aliases: ["mv"])

    @OptionGroup var options: TargetOptions

    @Argument(help: ArgumentHelp("The new name.", valueName: "new-name"))
    var target: String?

    @Flag(
        name: [.customShort("f"), .customLong("replace")],
        help: "Replaces an item that already has the new name.")
    var replace = false

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    mutating func validate() throws {
        _ = try NewName(options.target(target, "new name"))
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
    }

    func run() throws {
        let name = try NewName(options.target(target, "new name"))
        guard let session = try KeychainSession(existing: application.source(with: passcode)) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.close() }
        let item = try session.findOne(options.queries, hasClassAndLabel: false)
        let attributes = try name.attributes(of: item.itemClass)
        guard attributes.contains(where: { !$1.isEqual(to: item.attributes[$0]) }) else { return }
        do {
            try session.change(item, to: ItemChanges(attributes: attributes), replacing: replace)
        } catch let failure as KeychainFailure where failure.status == .duplicateItem {
            throw ControlFailure.occupied
        }
    }
}

struct LabelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "label",
        abstract: "Changes the label of an item, without reading its secret.",
        usage: "keychainctl label [<options>] <item> <text>")

    @OptionGroup var options: TargetOptions

    @Argument(help: ArgumentHelp("The new label, for display.", valueName: "text"))
    var text: String?

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    mutating func validate() throws {
        _ = try options.target(text, "label")
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
    }

    func run() throws {
        let text = try options.target(text, "label")
        guard let session = try KeychainSession(existing: application.source(with: passcode)) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.close() }
        let item = try session.findOne(options.queries, hasClassAndLabel: false)
        try session.change(item, to: ItemChanges(attributes: [.label: .string(text)]))
    }
}

extension AttributeValue {
    fileprivate func isEqual(to other: AttributeValue?) -> Bool {
        other.map { isEqual(to: $0) } ?? false
    }
}

extension KeychainSession {
    /// Changes one item. With `replacing`, an item that already has the resulting primary key is
    /// deleted.
    func change(
        _ item: ItemSnapshot, to changes: ItemChanges, replacing: Bool = false
    ) throws {
        try authenticating { authorization throws(KeychainFailure) in
            let query = ItemQuery(
                itemClass: item.itemClass, isSynchronizable: nil, reference: item.reference,
                authorization: authorization)
            do throws(KeychainFailure) {
                _ = try keychain.perform(
                    UpdateItems(query, changes, keepsVersions: true), as: caller)
            } catch {
                // The engine checks the authorization before the name, so `duplicateItem` means
                // that the change is permitted.
                guard error.status == .duplicateItem, replacing,
                    let occupant = try occupant(of: item, with: changes.attributes)
                else { throw error }
                let other = ItemQuery(
                    itemClass: occupant.itemClass, isSynchronizable: nil,
                    reference: occupant.reference)
                _ = try keychain.perform(
                    DeleteItems(other, tombstones: .automatic, keepsVersions: true), as: caller)
                _ = try keychain.perform(
                    UpdateItems(query, changes, keepsVersions: true), as: caller)
            }
        }
    }
}
