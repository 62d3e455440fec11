// The examples of the article "Following changes", compiled and run.

#if !canImport(Darwin)

import Foundation
import Observation
import Testing

@testable import Keychain

private let folder = FileManager.default.temporaryDirectory
    .appending(path: "keychain-article-\(UUID().uuidString)")

/// The keychain of all examples. Its folder is removed when the process exits.
private let keychain: Keychain = {
    atexit { try? FileManager.default.removeItem(at: folder) }
    return Keychain(
        service: "com.example.app",
        in: KeychainDatabase(directory: folder, accessGroups: ["g"]))
}()

@MainActor @Observable final class Session {
    @ObservationIgnored @KeychainStored(.token, in: keychain) var token: String?

    func signIn(with newToken: String) async throws {
        try await $token.save(newToken)
    }

    func signOut() {
        token = nil
    }
}

/// The functions that the examples call. They record each call.
private struct Connection: Sendable {
    let notes: AsyncStream<String>.Continuation

    func open(with token: String) { notes.yield("open \(token)") }
    func close() { notes.yield("close") }
    func pause(because error: KeychainError) { notes.yield("pause \(error.code)") }
}

@Suite(.serialized, .timeLimit(.minutes(20))) struct FollowingChangesTests {
    @Test func `the example for one secret sees each change of this secret`() async throws {
        let (notes, continuation) = AsyncStream<String>.makeStream()
        let connection = Connection(notes: continuation)
        let task = Task {
            for await state in keychain.changes(of: .token) {
                switch state {
                case .value(let token): connection.open(with: token)
                case .absent: connection.close()
                case .unavailable(let error): connection.pause(because: error)
                }
            }
            continuation.finish()
        }
        var seen: [String] = []
        for await note in notes {
            seen.append(note)
            if note == "close", seen.count == 1 { try await keychain.save("1", for: .token) }
            if note == "open 1" { try await keychain.delete(.token) }
            if seen.count == 3 { task.cancel() }
        }
        #expect(seen == ["close", "open 1", "close"])
    }

    @Test func `the example for the items of a service sees each change of these items`()
        async throws
    {
        var log: [String] = []
        var accounts: [String] = []
        for await contents in keychain.changes() {
            for change in contents.changes {
                log.append("\(change.kind) \(change.account)")
            }
            accounts = contents.items.map(\.account)
            if log.isEmpty { try await keychain.save("1", for: .token) }
            if log == ["added token"] { try await keychain.delete(.token) }
            if log.count == 2 { break }
        }
        #expect(log == ["added token", "deleted token"])
        #expect(accounts.isEmpty)
    }

    @Test @MainActor func `the example for a user interface shows the state of a secret`()
        async throws
    {
        var shown: [String] = []
        func showHome() { shown.append("home") }
        func showSignIn() { shown.append("sign in") }
        func showLocked() { shown.append("locked") }
        let session = Session()
        for step in 0..<2 {
            switch await session.$token.ready() {
            case .value: showHome()
            case .absent: showSignIn()
            case .unavailable: showLocked()
            }
            if step == 0 { try await session.signIn(with: "1") }
        }
        #expect(shown == ["sign in", "home"])
        #expect(session.token == "1")
        session.signOut()
        #expect(session.token == nil)
        try await session.$token.delete()
        #expect(try await keychain.load(.token) == nil)
    }

    @Test func `the article's examples are in this file, line by line`() throws {
        let root = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let article = try String(
            contentsOf: root.appending(
                path: "Sources/Keychain/Keychain.docc/FollowingChanges.md"), encoding: .utf8)
        func lines(_ text: some StringProtocol) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let here = try lines(String(contentsOf: URL(filePath: #filePath), encoding: .utf8))
        let examples = article.components(separatedBy: "```").enumerated()
            .filter { $0.offset % 2 == 1 }.map { lines($0.element.dropFirst("swift".count)) }
        #expect(examples.count == 4)
        for example in examples {
            var next = example[...]
            for line in here where line == next.first { next.removeFirst() }
            #expect(next.isEmpty, "not in this file, or not in this order: \(next.first ?? "")")
        }
    }
}

#endif
