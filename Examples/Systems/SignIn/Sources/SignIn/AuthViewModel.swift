// AuthViewModel: who is signed in, for a user interface to observe.
//   (1) No function throws or traps: what went wrong is in `errorMessage`.
//   (2) A failure changes neither `isAuthenticated` nor `userIdentifier`: what is known stays. What
//       is stored stays, too, unless a keychain service broke off: then the change may have been
//       made, and `restoreSession()` shows it.
//   (3) The asynchronous functions are carried out in the order of their calls and don't block
//       the main actor. A second sign-in while one is under way is refused.
//   (4) The synchronous functions act at once and block. A deletion overtakes what is under way:
//       nothing that began before it signs the person in again.

import Foundation
import Observation

/// The session of the app.
///
/// ```swift
/// let model = AuthViewModel()
/// await model.restoreSession()     // at every launch
/// await model.signInWithApple()
/// ```
///
/// A view that reads a property is drawn again when it changes. Each function takes back the
/// message of the one before it.
@MainActor @Observable
public final class AuthViewModel {
    /// Whether a person is known to be signed in. false is no proof of the contrary: see
    /// ``isSessionKnown``.
    public var isAuthenticated = false

    /// Whether an asynchronous function is under way.
    public var isLoading = false

    /// What to tell the person about the last failure. An interface sets it to nil once it was
    /// read.
    public var errorMessage: String?

    /// The identifier of the person who is signed in; nil if none is known to be.
    public private(set) var userIdentifier: String?

    /// Whether the keychain has said who is signed in, or that no person is. Until it has, an
    /// interface shows ``errorMessage`` and calls ``restoreSession()`` again, after unlock for
    /// example; it doesn't show the person as signed out.
    public var isSessionKnown: Bool { userIdentifier != nil || isStored == false }

    /// What the keychain said last of whether there is an identifier; nil: nothing yet.
    private var isStored: Bool?

    @ObservationIgnored private let authService: AppleAuthService
    @ObservationIgnored private let stored: StoredIdentifier
    @ObservationIgnored private var latest: Task<Void, Never>?
    @ObservationIgnored private var signInTask: Task<Void, Never>?
    @ObservationIgnored private var pendingCount = 0
    @ObservationIgnored private var deletionCount = 0

    /// A session that isn't restored yet. Nothing is read.
    ///
    /// - Parameters:
    ///   - authService: Signs the person in.
    ///   - keychain: Keeps the identifier.
    public init(
        authService: AppleAuthService = AppleAuthService(), keychain: KeychainService = .shared
    ) {
        self.authService = authService
        stored = StoredIdentifier(in: keychain)
    }

    // MARK: Asynchronous functions

    /// Signs the person in, and keeps the identifier for the next launch.
    ///
    /// The person is signed in once the identifier is saved. If they cancel, or the task is
    /// cancelled before the save begins, all is as before and there is no message. After a failure
    /// all is as before, too, unless a keychain service broke off: then the identifier may have
    /// been saved; ``errorMessage`` says why. While a sign-in is under way, a second call does
    /// nothing.
    public func signInWithApple() async {
        guard signInTask == nil else { return }
        let deletions = deletionCount
        let task = perform { model in
            await model.signIn(unlessDeletedSince: deletions)
            if model.deletionCount == deletions { model.signInTask = nil }
        }
        signInTask = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Restores the session of an earlier launch, without blocking.
    ///
    /// After a failure, which is in ``errorMessage``, call it again: on a locked device after
    /// unlock.
    public func restoreSession() async {
        await perform { model in
            let deletions = model.deletionCount
            do {
                let user = try await model.stored.readInBackground()
                guard model.deletionCount == deletions else { return }
                model.show(user)
            } catch {
                model.show(error)
            }
        }.value
    }

    private func signIn(unlessDeletedSince deletions: Int) async {
        do {
            let credential = try await authService.signIn()
            let isSaved = try await stored.saveInBackground(credential.user)
            guard isSaved, deletionCount == deletions else { return }
            show(credential.user)
        } catch AppleAuthError.cancelled {
            // The person knows.
        } catch is CancellationError {
        } catch {
            guard deletionCount == deletions else { return }
            show(error)
        }
    }

    /// Carries out a function after those that were called before it.
    private func perform(
        _ body: @escaping @MainActor (AuthViewModel) async -> Void
    ) -> Task<Void, Never> {
        pendingCount += 1
        isLoading = true
        let previous = latest
        let task = Task {
            await previous?.value
            errorMessage = nil
            await body(self)
            pendingCount -= 1
            isLoading = pendingCount > 0
        }
        latest = task
        return task
    }

    // MARK: Synchronous functions

    /// Signs the person out: the stored identifier is deleted, and a sign-in that is under way is
    /// cancelled. This blocks until the keychain has answered.
    ///
    /// After a failure, which is in ``errorMessage``, the person is still signed in and the
    /// identifier still stored, unless a keychain service broke off: then it may be deleted.
    public func signOut() {
        guard deleteStoredIdentifier() else { return }
        show(nil)
    }

    /// Whether an identifier is stored. Its secret isn't opened. This blocks until the keychain
    /// has answered.
    ///
    /// - Returns: false: there is none. If the keychain can't tell, ``errorMessage`` says why, and
    ///   this is what it said last; true if it has said nothing yet, since a program that is told
    ///   "there is none" would begin anew.
    public func hasStoredCredentials() -> Bool {
        errorMessage = nil
        do {
            let exists = try stored.exists()
            isStored = exists
            return exists
        } catch {
            show(error)
            return isStored ?? true
        }
    }

    /// Reads the stored identifier and restores the session: the blocking form of
    /// ``restoreSession()``.
    ///
    /// - Returns: The identifier; nil if there is none. If the keychain can't tell,
    ///   ``errorMessage`` says why, and this is ``userIdentifier``, what is known.
    @discardableResult
    public func loadStoredCredentials() -> String? {
        errorMessage = nil
        do {
            show(try stored.read())
        } catch {
            show(error)
        }
        return userIdentifier
    }

    /// Deletes the stored identifier and nothing else: this launch stays signed in, the next one
    /// is signed out. A sign-in that is under way is cancelled. This blocks until the keychain
    /// has answered.
    ///
    /// After a failure, which is in ``errorMessage``, the identifier is still stored, unless a
    /// keychain service broke off: then it may be deleted.
    public func deleteToken() {
        _ = deleteStoredIdentifier()
    }

    private func deleteStoredIdentifier() -> Bool {
        errorMessage = nil
        do {
            try stored.delete(cancelling: signInTask)
        } catch {
            show(error)
            return false
        }
        signInTask = nil
        deletionCount += 1
        isStored = false
        return true
    }

    // MARK: What is shown

    /// What the keychain says: it has this identifier, or none.
    private func show(_ user: String?) {
        isStored = user != nil
        userIdentifier = user
        isAuthenticated = user != nil
    }

    private func show(_ error: any Error) {
        errorMessage = error.localizedDescription
    }
}
