// RecoveryCodeTests: the recovery code with a simulated user. The article "Ask the user before
// showing a secret" explains this file.

import KeychainTesting
import Security
import Testing

@testable import recovery

@Suite struct RecoveryCodeTests {
    @Test func `only the owner can read the recovery code`() throws {
        let test = TestKeychain()
        try test.setPasscode("1234")
        try test.withSecItem {
            let recoveryCode = RecoveryCode()
            try recoveryCode.add("4711-0815")

            test.person = .stranger
            #expect(throws: StatusError(status: errSecAuthFailed)) {
                try recoveryCode.load()
            }
            test.person = .declining
            #expect(throws: StatusError(status: errSecUserCanceled)) {
                try recoveryCode.load()
            }
            test.person = nil
            let notAllowed = StatusError(status: errSecInteractionNotAllowed)
            #expect(throws: notAllowed) { try recoveryCode.load() }

            test.person = .owner
            #expect(try recoveryCode.load() == "4711-0815")
            let reason = test.askedQuestions.last?.reason
            #expect(reason == "show your recovery code")
        }
    }
}
