// LocalChanges: notifications of the changes that this process makes through this package, for
// platforms where the keychain itself sends none.
//   (1) The SecItem functions have no change notification on any platform. A change by another
//       process is therefore noticed only when the keychain is next read for another reason.

import KeychainCore

enum LocalChanges {
    /// One set of subscribers for all SecItem handlers, because Apple platforms have one keychain.
    static let shared = ChangeSubscribers()
}
