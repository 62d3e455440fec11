// LocalChanges: tells of the changes that this process makes through this package, where the
// keychain itself tells of none.
//   (1) The SecItem functions have no notice of changes on any platform. So behind them another
//       process's change is seen at the next look for another reason.

import KeychainCore

enum LocalChanges {
    /// Those of all SecItem handlers: on Apple platforms there is one keychain.
    static let shared = ChangeSubscribers()
}
