// The code of the article "Test code that handles a locked device". The last test compares the
// article with this file.

import Foundation
import Keychain
import KeychainTesting
import Testing

struct Session {
    enum State: Equatable {
        case signedOut
        case signedIn(token: String)
        /// The device is locked, so the token can't be read yet.
        case waitingForUnlock
    }

    static let token = KeychainKey<String>("token", accessibility: .whenUnlocked)

    let keychain: Keychain

    func state() throws -> State {
        do {
            guard let token = try keychain.load(Self.token) else { return .signedOut }
            return .signedIn(token: token)
        } catch KeychainError.Code.interactionNotAllowed {
            return .waitingForUnlock
        }
    }
}

@Suite struct `The article on locked devices` {
    @Test func `a session on a locked device isn't signed out`() throws {
        let test = TestKeychain()
        let session = Session(
            keychain: Keychain(service: "com.example.app", in: test.database))
        #expect(try session.state() == .signedOut)
        try session.keychain.save("abc", for: Session.token)

        try test.lock()
        #expect(try session.state() == .waitingForUnlock)

        try test.unlock()
        #expect(try session.state() == .signedIn(token: "abc"))
    }

    @Test func `a push token can be read only after the first unlock`() throws {
        let test = TestKeychain()
        let keychain = Keychain(
            service: "com.example.app", accessibility: .afterFirstUnlock, in: test.database)
        try keychain.save("abc", for: KeychainKey("push token"))

        try test.setPasscode("1234")
        try test.restart()
        #expect {
            _ = try keychain.load(KeychainKey<String>("push token"))
        } throws: {
            KeychainError.Code.interactionNotAllowed ~= $0
        }

        try test.unlock()
        try test.lock()
        #expect(try keychain.load(KeychainKey<String>("push token")) == "abc")
    }

    @Test func `a lock in the middle of a change leaves the old value`() throws {
        let test = TestKeychain()
        let keychain = Keychain(service: "com.example.app", in: test.database)
        try keychain.save("old", for: Session.token)

        test.inject(.locked, into: .writes, times: 1)
        #expect {
            try keychain.update(Session.token) { $0 = "new" }
        } throws: {
            KeychainError.Code.interactionNotAllowed ~= $0
        }
        #expect(try keychain.load(Session.token) == "old")
    }

    @Test func `saving again after an unknown outcome is safe`() throws {
        let test = TestKeychain()
        let keychain = Keychain(service: "com.example.app", in: test.database)

        test.inject(.stop(.afterCommit), times: 1)
        #expect(throws: KeychainError.self) { try keychain.save("new", for: Session.token) }
        try test.restart()

        try keychain.save("new", for: Session.token)
        #expect(try keychain.load(Session.token) == "new")
        #expect(try test.items().count == 1)
    }

    @Test func `the article's code is the code in this file`() throws {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().appending(path: "../..").standardized
        let article = try String(
            contentsOf: root.appending(
                path: "Sources/KeychainTesting/KeychainTesting.docc/LockedDeviceTests.md"),
            encoding: .utf8)
        let file = Self.lines(try String(contentsOf: here, encoding: .utf8))
        let blocks = article.components(separatedBy: "```").enumerated()
            .filter { $0.offset % 2 == 1 }.map(\.element)
        #expect(blocks.count == 5)
        for block in blocks {
            let code = Self.lines(String(block.dropFirst("swift".count)))
            #expect(!code.isEmpty)
            #expect(file.contains(code), "\(block)")
        }
    }

    /// The lines that aren't empty, without indentation.
    private static func lines(_ text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }
}
