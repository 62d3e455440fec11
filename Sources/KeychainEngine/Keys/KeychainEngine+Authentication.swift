// KeychainEngine+Authentication: grants, for callers that proved to know the passcode.
//   (1) A grant is good from the proof to the next lock, change or removal of the passcode, by
//       whichever process, and to the closing of the engine. The next one is another.
//   (2) It can't be guessed, and it is never written anywhere.
//   (3) Who proves to know the passcode unlocks the keychain: there is no other screen on which a
//       program's user could.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import Synchronization

extension KeychainEngine {
    package func execute(
        _ request: Authenticate, as caller: AccessGroups
    ) throws(KeychainFailure) -> AuthenticationGrant {
        try reloadKeybag()
        // Taken before the derivation: where the keychain is locked meanwhile, it is no longer good.
        let grant = presence.withLock { $0 }
        let hierarchy = ring.withLock { $0.hierarchy }
        guard hierarchy.keybag.hasPasscode else {
            throw KeychainFailure(.notAvailable, "No passcode is set.")
        }
        if lockState == .unlocked {
            _ = try hierarchy.openPasscodeKeys(request.passcode)
        } else {
            try unlock(passcode: request.passcode)
        }
        return grant
    }

    /// What biometric hardware gets that has recognized the owner. No request reaches this: the
    /// code that holds the engine vouches for the hardware.
    package func grantForRecognition() -> AuthenticationGrant { recognition.withLock { $0 } }

    /// Ends all grants.
    func endGrants() {
        presence.withLock { $0 = AuthenticationGrant(token: .random()) }
        recognition.withLock { $0 = AuthenticationGrant(token: .random()) }
    }
}
