// HistoryCommand: lists the earlier versions of items, and sets how many versions are kept, for how
// long, and after changes by which programs.

import ArgumentParser
import KeychainCore
import KeychainRuntime

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Lists the earlier versions of items.",
        discussion: """
            When keychainctl changes or deletes an item, it keeps the item's previous state as an \
            earlier version, encrypted as before. The number and the age of versions are limited. \
            This command opens no secret: `keychainctl get --version` shows one, `keychainctl \
            restore --version` brings a version back, and `keychainctl purge` deletes versions \
            permanently. When the counter of an otp item is incremented, or when one of the \
            helpers `git`, `docker` and `security` changes an item, a version is kept only with \
            --programs all.

            --keep, --days and --programs set which versions are kept from now on, for the whole \
            keychain. Versions that exceed the new limits are deleted at once.
            """)

    @OptionGroup var selection: SelectionOptions

    @Option(
        help: ArgumentHelp(
            "Keeps at most this many versions of a name, 0 to 1000; 0 keeps none.",
            valueName: "number"))
    var keep: UInt32?

    @Option(
        help: ArgumentHelp("Keeps versions for this many days, 1 to 36500.", valueName: "number"))
    var days: UInt32?

    @Option(
        help: ArgumentHelp(
            "Keeps versions after changes by any program, or only after changes by keychainctl "
                + "and by programs that request versions.",
            valueName: "all|asking"))
    var programs: Programs?

    @Flag(help: "Shows the settings instead of versions.")
    var settings = false

    @Flag(help: "Writes JSON.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    enum Programs: String, CaseIterable, ExpressibleByArgument {
        case all, asking
    }

    private var sets: Bool { keep != nil || days != nil || programs != nil }

    mutating func validate() throws {
        let isNarrowed = selection.isNarrowed || selection.className != nil
        guard !(settings || sets) || !isNarrowed else {
            throw ValidationError(
                "--keep, --days, --programs and --settings apply to the whole keychain and can't "
                    + "be combined with an item.")
        }
        let wanted = policy(from: .standard)
        guard wanted.isValid else {
            throw ValidationError(
                "The value of --keep must be 0 to 1000, that of --days 1 to 36500.")
        }
    }

    private func policy(from policy: HistoryPolicy) -> HistoryPolicy {
        var policy = policy
        if let keep { policy.count = keep }
        if let days { policy.days = days }
        if let programs { policy.isForAll = programs == .all }
        return policy
    }

    func run() throws {
        if sets {
            let session = try KeychainSession(making: passcode.source)
            defer { session.close() }
            return try show(
                try session.unlocking { () throws(KeychainFailure) in
                    let present = try session.keychain.perform(SetHistory())
                    return try session.keychain.perform(SetHistory(policy(from: present)))
                })
        }
        let session = try KeychainSession(existing: passcode.source)
        defer { session?.closeIfLogIsLong() }
        if settings { return try show(try session?.keychain.perform(SetHistory()) ?? .standard) }
        try show(try session?.versions(selection.queries) ?? [])
    }

    private func show(_ policy: HistoryPolicy) throws {
        guard !json else {
            return try Output.print(
                JSON.object([
                    ("keep", .number(Int64(policy.count))), ("days", .number(Int64(policy.days))),
                    ("programs", .string((policy.isForAll ? Programs.all : .asking).rawValue)),
                ]).text)
        }
        try Output.print(
            policy.count == 0
                ? "No earlier versions are kept."
                : "Keeps up to \(counted(Int(policy.count), "version")) of each name for "
                    + "\(counted(Int(policy.days), "day")), after changes by "
                    + (policy.isForAll
                        ? "all programs." : "keychainctl and by programs that request versions.")
        )
    }

    private func show(_ versions: [ItemVersion]) throws {
        if json {
            return try Output.print(
                JSON.array(
                    versions.map { version in
                        .object(
                            [
                                ("version", .number(Int64(version.number))),
                                ("change", .string("\(version.change)")),
                                ("at", .string(timestamp(version.moment))),
                            ] + version.item.members)
                    }
                ).text)
        }
        guard !versions.isEmpty else { return }
        try Output.print(
            table(
                [["VERSION", "ITEM", "LABEL", "CHANGE", "AT", "REFERENCE"]]
                    + versions.map { version in
                        let item = version.item
                        return [
                            String(version.number),
                            item.word.map(printable)
                                ?? item.nameParts.map(printable).joined(separator: " "),
                            item.text(of: .label), "\(version.change)", timestamp(version.moment),
                            item.reference.description,
                        ]
                    }))
    }
}
