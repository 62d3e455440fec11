// KeychainEngine+PasscodeQuery: whether a person can be asked for a passcode.

package import KeychainModel
import Synchronization

extension KeychainEngine {
    package func knowsPasscode() throws(KeychainFailure) -> Bool {
        try reloadKeybag()
        return hasPasscode
    }
}
