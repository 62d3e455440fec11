import KeychainCore
import Testing

@testable import KeychainTool

/// A report on five items, with the given damaged items and pages, and a number of items that were
/// set aside.
private func report(
    _ damaged: [CheckReport.DamagedItem], setAside: Int = 0, pages: [UInt32] = []
) -> CheckReport {
    var report = CheckReport()
    report.itemCount = 5
    report.damagedItems = damaged
    report.setAsideCount = setAside
    report.damagedPages = pages
    return report
}

private let item = CheckReport.DamagedItem(
    reference: .random(), what: "its attributes can't be opened")
private let nameless = CheckReport.DamagedItem(
    reference: nil, what: "its columns have invalid values")
private let version = CheckReport.DamagedItem.earlierVersion(of: .random())

@Suite struct `The report of a check` {
    @Test func `damaged earlier versions of items are counted separately from damaged items`() {
        let text = CheckCommand.text(of: report([item, version, version]), 0)
        #expect(
            text.hasSuffix(
                "\n5 items checked: 4 intact, 1 damaged, 0 locked.\n2 earlier versions damaged."))
        let sound = CheckCommand.text(of: report([nameless]), 0)
        #expect(sound.hasSuffix("\n5 items checked: 4 intact, 1 damaged, 0 locked."))
    }

    @Test func `a damaged version of a deleted item doesn't lower the number of intact items`() {
        var empty = report([version])
        empty.itemCount = 0
        let text = CheckCommand.text(of: empty, 0)
        #expect(text.contains("\n0 items checked: 0 intact, 0 damaged, 0 locked.\n"))
    }

    /// Reports, the beginnings of their messages, and the commands that the messages recommend.
    static let messages: [(CheckReport, String, String)] = [
        (report([item]), "1 damaged item. ", "check --set-aside"),
        (report([item, version]), "1 damaged item. ", "check --set-aside"),
        (report([item], setAside: 1), "1 damaged item set aside. ", "doctor"),
        (report([item, version], setAside: 1), "1 damaged item set aside. ", "doctor"),
        (report([nameless]), "1 damaged item. ", "recover"),
        (report([item, nameless]), "2 damaged items. ", "recover"),
        (report([item, nameless], setAside: 1), "2 damaged items. ", "recover"),
        (report([item, version], pages: [3]), "1 damaged item, in a damaged part ", "recover"),
        (
            report([version], pages: [3]), "No item is known to be damaged, but the file has 1 ",
            "recover"
        ),
        (
            report([version, version]), "No item is known to be damaged, but the keychain has 2 ",
            "purge"
        ),
        (
            report([.earlierVersion(of: nil)]),
            "No item is known to be damaged, but the keychain has 1 ",
            "recover"
        ),
    ]

    @Test(arguments: messages)
    func `the message recommends the command that fits the damage`(
        _ report: CheckReport, _ beginning: String, _ command: String
    ) {
        let failure = CheckCommand.failure(for: report)
        #expect(failure.status == .damaged)
        #expect(failure.message.hasPrefix(beginning), "\(failure.message)")
        #expect(failure.message.contains("`keychainctl \(command)`"), "\(failure.message)")
    }
}
