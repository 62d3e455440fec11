// ChangeCount: counts the changes that this process makes, so that what it remembers of a
// keychain is never older than its own changes.
//   (1) The count rises after a change was carried out or failed, and before its call returns.
//   (2) What was read after taking the count is outdated if the count is another one now. Of
//       changes by other processes this says nothing.

import Synchronization

enum ChangeCount {
    private static let counter = Atomic<Int>(0)

    static var count: Int { counter.load(ordering: .acquiring) }

    static func note() { counter.wrappingAdd(1, ordering: .releasing) }
}
