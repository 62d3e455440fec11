// ChangeCount: counts the changes of passwords that this process makes through `Keychain`, so that
// a cached value is never older than those changes. Secure Enclave keys are not passwords.
//   (1) The count increases after a change has succeeded or failed, and before the method that made
//       the change returns.
//   (2) To cache a value, take the count first and then read the value. If the count has increased
//       since, the value may be outdated. Changes by other processes, or by this process through
//       another API such as the SecItem functions, are not counted.

import Synchronization

enum ChangeCount {
    private static let counter = Atomic<Int>(0)

    static var count: Int { counter.load(ordering: .acquiring) }

    static func note() { counter.wrappingAdd(1, ordering: .releasing) }
}
