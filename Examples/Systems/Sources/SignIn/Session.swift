// Session: who is signed in, for a user interface to observe.
//   (1) `state` is what the keychain said last. Where it has said nothing yet, it is `unknown`.
//   (2) No error of the keychain is thrown or traps: it is in `error`, and `state` is as it was.
//   (3) Calls are carried out one after the other, in their order.

public import Observation

/// The session of the app.
///
/// ```swift
/// let session = Session()
/// await session.restore()                    // at every launch
/// await session.signIn(userIdentifier: id)   // after the server has said yes
/// ```
///
/// Views that read ``state``, ``isLoading`` or ``error`` are drawn again when it changes. The main
/// actor is never blocked.
@MainActor @Observable
public final class Session {
    /// Who is signed in.
    public enum State: Hashable, Sendable {
        /// Not known: not restored yet, or the keychain is locked or damaged. This is no reason to
        /// sign anybody out.
        case unknown
        /// Nobody.
        case signedOut
        /// The user with this identifier.
        case signedIn(userIdentifier: String)
    }

    /// Who is signed in.
    public private(set) var state = State.unknown

    /// Why the last call failed; nil if it didn't.
    public private(set) var error: SignInError?

    /// Whether a call is under way.
    public var isLoading: Bool { pendingCount > 0 }

    /// Whether somebody is signed in.
    public var isSignedIn: Bool {
        if case .signedIn = state { true } else { false }
    }

    private var pendingCount = 0
    @ObservationIgnored private var latest: Task<Void, Never>?
    private let store: SignInStore

    /// A session that isn't restored yet.
    ///
    /// - Parameter store: Where the identifier is kept.
    public init(store: SignInStore = SignInStore()) {
        self.store = store
    }

    /// Restores the session of an earlier launch. After a failure, call it again: on a locked
    /// device after unlock.
    public func restore() async {
        await perform { store throws(SignInError) in
            guard let user = try await store.read(.userIdentifier) else { return .signedOut }
            return .signedIn(userIdentifier: user)
        }
    }

    /// Keeps the identifier of a user who has signed in successfully.
    ///
    /// The user is signed in once the identifier is saved. After a failure, call it again.
    ///
    /// - Parameter userIdentifier: The identifier, as the server gave it.
    public func signIn(userIdentifier: String) async {
        await perform { store throws(SignInError) in
            try await store.save(userIdentifier, for: .userIdentifier)
            return .signedIn(userIdentifier: userIdentifier)
        }
    }

    /// Signs out: the identifier is deleted. After a failure it is still there, and so is the user.
    public func signOut() async {
        await perform { store throws(SignInError) in
            try await store.delete(.userIdentifier)
            return .signedOut
        }
    }

    private func perform(
        _ call: @escaping @Sendable (SignInStore) async throws(SignInError) -> State
    ) async {
        pendingCount += 1
        let previous = latest
        let task = Task {
            await previous?.value
            do throws(SignInError) {
                state = try await call(store)
                error = nil
            } catch {
                self.error = error
            }
            pendingCount -= 1
        }
        latest = task
        await task.value
    }
}
