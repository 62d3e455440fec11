import KeychainCore
import Testing

@testable import KeychainTool

/// A report on five items, with the given entries and a number of items that were set aside.
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
    @Test func `damaged earlier versions are counted apart from the items`() {
        let text = CheckCommand.text(of: report([item, version, version]), 0)
        #expect(
            text.hasSuffix(
                "\n5 items checked: 4 intact, 1 damaged, 0 locked.\n2 earlier versions damaged."))
        let sound = CheckCommand.text(of: report([nameless]), 0)
        #expect(sound.hasSuffix("\n5 items checked: 4 intact, 1 damaged, 0 locked."))
    }

    @Test func `an earlier version of a deleted item doesn't make the number of intact items negative`() {
        var empty = report([version])
        empty.itemCount = 0
        let text = CheckCommand.text(of: empty, 0)
        #expect(text.contains("\n0 items checked: 0 intact, 0 damaged, 0 locked.\n"))
    }
}
