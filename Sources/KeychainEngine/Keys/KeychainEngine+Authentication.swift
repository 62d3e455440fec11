// KeychainEngine+Authentication: grants, which somebody gets who proved to know the passcode.

package import FoundationEssentials
import KeychainCrypto
package import KeychainModel
import Synchronization

extension KeychainEngine {
    package func authenticate(passcode: Data) throws(KeychainFailure) -> AuthenticationGrant {
        try reloadKeybag()
        let hierarchy = ring.withLock { $0.hierarchy }
        guard hierarchy.keybag.hasPasscode else {
            throw KeychainFailure(.notAvailable, "No passcode is set.")
        }
        _ = try hierarchy.openPasscodeKeys(SecretBytes(copying: Array(passcode)))
        let grant = AuthenticationGrant(token: .random())
        _ = grants.withLock { $0.insert(grant) }
        return grant
    }
}
