// SessionTests: a session over a keychain in memory. The article "Test code that uses the keychain"
// explains this file.

import Keychain
import KeychainTesting
import Testing

@testable import token

@Suite struct SessionTests {
    let test = TestKeychain()
    let session: Session

    init() {
        session = Session(
            keychain: Keychain(service: "test", in: test.database))
    }

    @Test func `a token is kept until the user signs out`() throws {
        #expect(try session.token() == nil)
        try session.signIn(with: "abcd-1234")
        #expect(try session.token() == "abcd-1234")
        try session.signOut()
        #expect(try session.token() == nil)
    }
}

extension SessionTests {
    @Test func `a locked keychain is not taken as signed out`() throws {
        try session.signIn(with: "abcd-1234")
        try test.setPasscode("1234")
        try test.restart()
        #expect {
            try session.token()
        } throws: {
            KeychainError.Code.interactionNotAllowed ~= $0
        }
        try test.unlock()
        #expect(try session.token() == "abcd-1234")
    }
}

extension SessionTests {
    @Test func `a sign-in on a full disk fails and keeps the old token`() throws {
        try session.signIn(with: "abcd-1234")
        test.inject(.diskFull)
        #expect {
            try session.signIn(with: "efgh-5678")
        } throws: {
            KeychainError.Code.diskFull ~= $0
        }
        test.removeFaults()
        #expect(try session.token() == "abcd-1234")
    }
}
