// ServiceClient+Administration: what the owner of a keychain asks of the service.

package import KeychainCrypto
package import KeychainEngine
package import KeychainModel
import KeychainWire

extension ServiceClient: KeychainAdministration {
    package func unlock(passcode: SecretBytes) throws(KeychainFailure) {
        try done(try perform(.unlock(passcode: passcode)))
    }

    package func lock() throws(KeychainFailure) {
        try done(try perform(.lock))
    }

    package func lockAll() throws(KeychainFailure) {
        try done(try perform(.lockAll))
    }

    package func setPasscode(_ passcode: SecretBytes) throws(KeychainFailure) {
        try done(try perform(.setPasscode(passcode)))
    }

    package func changePasscode(
        from old: SecretBytes, to new: SecretBytes
    ) throws(KeychainFailure) {
        try done(try perform(.changePasscode(from: old, to: new)))
    }

    package func removePasscode(_ passcode: SecretBytes) throws(KeychainFailure) -> Int {
        try count(try perform(.removePasscode(passcode)))
    }

    package func status() throws(KeychainFailure) -> KeychainStatus {
        guard case .status(let status) = try perform(.status) else {
            throw .serviceUnreadable(socketPath)
        }
        return status
    }

    package func check(
        progress: (Int, Int) -> Void
    ) throws(KeychainFailure) -> CheckReport {
        guard case .report(let report) = try perform(.check, progress: progress) else {
            throw .serviceUnreadable(socketPath)
        }
        return report
    }
}
