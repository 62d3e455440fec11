// ChangeCount: counts the changes that this process makes, so that cached keychain state is never
// older than the process's own changes.
//   (1) The count increases after a change has succeeded or failed, and before its call returns.
//   (2) State that was read after taking the count is outdated if the count has changed since. The
//       count does not cover changes by other processes.

import Synchronization

enum ChangeCount {
    private static let counter = Atomic<Int>(0)

    static var count: Int { counter.load(ordering: .acquiring) }

    static func note() { counter.wrappingAdd(1, ordering: .releasing) }
}
