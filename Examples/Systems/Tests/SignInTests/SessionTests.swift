// Session: what a launch restores, what a user interface sees, and what a bad keychain does.

import Dispatch
import Keychain
import KeychainServices
import KeychainTesting
import Observation
import SignIn
import Testing

@MainActor @Suite struct `Sign-in session` {
    let test = TestKeychain()
    let store = SignInStore()

    @Test func `after a sign-in the identifier is saved and the next launch restores it`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let first = Session()
            #expect(first.state == .unknown)
            await first.restore()
            #expect(first.state == .signedOut)
            #expect(!first.isSignedIn)
            await first.signIn(userIdentifier: "alice")
            #expect(first.state == .signedIn(userIdentifier: "alice"))
            #expect(try await store.read(.userIdentifier) == "alice")

            let next = Session()
            await next.restore()
            #expect(next.state == .signedIn(userIdentifier: "alice"))
            #expect(next.isSignedIn)
            #expect(next.error == nil)
        }
    }

    @Test func `a sign-out deletes the identifier, and the next launch is signed out`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let session = Session()
            await session.signIn(userIdentifier: "alice")
            await session.signOut()
            #expect(session.state == .signedOut)
            #expect(try await !store.exists(.userIdentifier))
            let next = Session()
            await next.restore()
            #expect(next.state == .signedOut)
            await next.signOut()
            #expect(next.error == nil)
        }
    }

    @Test func `another user replaces the first one`() async throws {
        await test.withSecItem {
            let session = Session()
            await session.signIn(userIdentifier: "alice")
            await session.signIn(userIdentifier: "bob")
            #expect(session.state == .signedIn(userIdentifier: "bob"))
        }
        #expect(try test.items().count == 1)
    }

    // MARK: Bad keychains

    enum Call: CaseIterable {
        case restore, signIn, signOut

        @MainActor func make(_ session: Session) async {
            switch self {
            case .restore: await session.restore()
            case .signIn: await session.signIn(userIdentifier: "bob")
            case .signOut: await session.signOut()
            }
        }
    }

    struct BadKeychain: CustomTestStringConvertible {
        let fault: TestKeychain.Fault
        let status: OSStatus
        let calls: [Call]
        let testDescription: String
    }

    nonisolated static let badKeychains = [
        // A lock stops no deletion.
        BadKeychain(
            fault: .locked, status: errSecInteractionNotAllowed, calls: [.restore, .signIn],
            testDescription: "locked"),
        BadKeychain(
            fault: .denied, status: errSecAuthFailed, calls: Call.allCases,
            testDescription: "denied"),
        BadKeychain(
            fault: .diskFull, status: errSecDiskFull, calls: [.signIn, .signOut],
            testDescription: "disk full"),
        BadKeychain(
            fault: .failure(.notAvailable), status: errSecNotAvailable, calls: Call.allCases,
            testDescription: "damaged"),
        BadKeychain(
            fault: .failure(.decode), status: errSecDecode, calls: Call.allCases,
            testDescription: "damaged item"),
        BadKeychain(
            fault: .stop(.beforeCommit), status: errSecIO, calls: [.signIn, .signOut],
            testDescription: "power failure"),
        BadKeychain(
            fault: .failure(.init(rawValue: -99_999)), status: -99_999, calls: Call.allCases,
            testDescription: "unheard-of status"),
    ]

    @Test(arguments: badKeychains)
    func `an error of the keychain is published, changes nothing, and can be tried again`(
        bad: BadKeychain
    ) async throws {
        try #require(!bad.calls.isEmpty)
        for call in bad.calls {
            let test = TestKeychain()
            try await test.withSecItem { () async throws in
                let session = Session()
                await session.signIn(userIdentifier: "alice")
                test.inject(bad.fault)
                await call.make(session)
                #expect(session.error?.status == bad.status)
                #expect(session.state == .signedIn(userIdentifier: "alice"))
                #expect(!session.isLoading)

                test.removeFaults()
                #expect(try await store.read(.userIdentifier) == "alice")
                await call.make(session)
                #expect(session.error == nil)
                let user = call == .signIn ? "bob" : call == .signOut ? nil : "alice"
                #expect(try await store.read(.userIdentifier) == user)
            }
        }
    }

    @Test func `a launch on a locked device knows nobody, and signs nobody out`() async throws {
        try await test.withSecItem {
            await Session().signIn(userIdentifier: "alice")
            try test.setPasscode("1234")
            try test.restart()

            let session = Session()
            await session.restore()
            #expect(session.state == .unknown)
            #expect(session.error?.isLocked == true)

            try test.unlock()
            await session.restore()
            #expect(session.state == .signedIn(userIdentifier: "alice"))
            #expect(session.error == nil)
        }
    }

    @Test func `a sign-in that could not be saved is none`() async {
        await test.withSecItem {
            let session = Session()
            await session.restore()
            test.inject(.diskFull, times: 1)
            await session.signIn(userIdentifier: "alice")
            #expect(session.state == .signedOut)
            #expect(session.error == SignInError(.save, errSecDiskFull))
            await session.signIn(userIdentifier: "alice")
            #expect(session.isSignedIn)
        }
    }

    // MARK: A user interface

    @Test func `a user interface sees signed-in state, loading and error as they change`() async {
        await test.withSecItem {
            let session = Session()
            let screen = Screen(session)
            #expect(screen.drawings == [.init(state: .unknown, isLoading: false, status: nil)])

            await session.signIn(userIdentifier: "alice")
            let alice = Session.State.signedIn(userIdentifier: "alice")
            await screen.shows(.init(state: alice, isLoading: false, status: nil))
            #expect(screen.drawings.contains(.init(state: .unknown, isLoading: true, status: nil)))

            test.inject(.denied, times: 1)
            await session.signOut()
            await screen.shows(.init(state: alice, isLoading: false, status: errSecAuthFailed))
            #expect(screen.drawings.contains(.init(state: alice, isLoading: true, status: nil)))

            await session.signOut()
            await screen.shows(.init(state: .signedOut, isLoading: false, status: nil))
        }
    }

    @Test func `the main actor goes on while the keychain is slow`() async {
        // A call that held the main actor would leave others two turns at most: before it and
        // after. Where other tests take so many turns that few are left to count, a slower
        // keychain leaves more.
        var turnCount = 0
        for delay in [Duration.milliseconds(100), .seconds(1), .seconds(10)] where turnCount < 5 {
            turnCount = 0
            await test.withSecItem {
                test.inject(.slow(delay), times: 1)
                let session = Session()
                let call = Task { await session.signIn(userIdentifier: "alice") }
                while session.isLoading || !session.isSignedIn {
                    if session.isLoading { turnCount += 1 }
                    await turn()
                }
                await call.value
            }
        }
        #expect(turnCount >= 5)
    }

    @Test func `calls that overlap are carried out in their order`() async throws {
        try await test.withSecItem { () async throws in
            test.inject(.slow(.milliseconds(100)), times: 1)
            let session = Session()
            let calls = [
                Task { await session.signIn(userIdentifier: "alice") },
                Task { await session.signOut() },
                Task { await session.signIn(userIdentifier: "bob") },
                Task { await session.restore() },
            ]
            for call in calls { await call.value }
            #expect(session.state == .signedIn(userIdentifier: "bob"))
            #expect(!session.isLoading)
            #expect(try await store.read(.userIdentifier) == "bob")
        }
    }
}

/// Lets others have a turn of the main actor. `Task.yield()` would go by way of the pool.
@MainActor private func turn() async {
    await withCheckedContinuation { continuation in
        DispatchQueue.main.async { continuation.resume() }
    }
}

/// Draws itself again when what it has read changes, as a view does.
@MainActor private final class Screen {
    struct Drawing: Equatable {
        var state: Session.State
        var isLoading: Bool
        var status: OSStatus?
    }

    private let session: Session
    private(set) var drawings: [Drawing] = []

    init(_ session: Session) {
        self.session = session
        draw()
    }

    /// Waits until this is what it shows; some turns of the main actor at most.
    func shows(_ drawing: Drawing) async {
        for _ in 0..<10_000 where drawings.last != drawing { await turn() }
        #expect(drawings.last == drawing)
    }

    private func draw() {
        withObservationTracking {
            drawings.append(
                Drawing(
                    state: session.state, isLoading: session.isLoading,
                    status: session.error?.status))
        } onChange: { [weak self] in
            Task { @MainActor in self?.draw() }
        }
    }
}
