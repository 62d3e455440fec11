// AuthViewModel: the session of the user, as an observable model for a user interface.
//   (1) No function throws or traps: errors are in `errorMessage`.
//   (2) A failure changes neither `isAuthenticated` nor `userIdentifier`. Stored data are not
//       changed either, unless the connection to a keychain service broke or the disk failed to
//       confirm the write. In these cases, the change may have been made, and `restoreSession()`
//       shows the stored data.
//   (3) The asynchronous functions are carried out in the order of their calls and don't block the
//       main actor. While a sign-in is in progress, a second sign-in has no effect.
//   (4) The synchronous functions take effect immediately and block the main actor. A deletion
//       doesn't wait for asynchronous functions in progress: a function that was called before the
//       deletion doesn't sign the user in again.

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
/// A view that reads a property is updated when the property changes. Each function clears the
/// message of the previous function.
@MainActor @Observable
public final class AuthViewModel {
    /// Whether a user is known to be signed in. `false` can also mean that the session is not known
    /// yet: see ``isSessionKnown``.
    public var isAuthenticated = false

    /// Whether an asynchronous function is in progress.
    public var isLoading = false

    /// The message for the user about the last failure. The user interface sets this property to
    /// `nil` after the user has read the message.
    public var errorMessage: String?

    /// The identifier of the signed-in user, or `nil` if no user is known to be signed in.
    public private(set) var userIdentifier: String?

    /// Whether the keychain has reported the signed-in user, or that no user is signed in. While
    /// this property is `false`, the user interface must not show the user as signed out. Instead,
    /// it shows ``errorMessage`` and calls ``restoreSession()`` again, for example after the device
    /// is unlocked.
    public var isSessionKnown: Bool { userIdentifier != nil || isStored == false }

    /// The keychain's last report on whether an identifier is stored, or `nil` before the first
    /// report.
    private var isStored: Bool?

    @ObservationIgnored private let authService: AppleAuthService
    @ObservationIgnored private let stored: StoredIdentifier
    @ObservationIgnored private var latest: Task<Void, Never>?
    @ObservationIgnored private var signInTask: Task<Void, Never>?
    @ObservationIgnored private var pendingCount = 0
    @ObservationIgnored private var deletionCount = 0

    /// Creates a session that isn't restored yet. Nothing is read.
    ///
    /// - Parameters:
    ///   - authService: Signs the user in.
    ///   - keychain: Stores the identifier.
    public init(
        authService: AppleAuthService = AppleAuthService(), keychain: KeychainService = .shared
    ) {
        self.authService = authService
        stored = StoredIdentifier(in: keychain)
    }

    // MARK: Asynchronous functions

    /// Signs the user in, and stores the identifier for the next launch.
    ///
    /// The user is signed in once the identifier is saved. If the user cancels, or the task is
    /// canceled before the save begins, nothing changes and there is no message. After a failure,
    /// ``errorMessage`` contains the reason, and nothing has changed, unless the connection to a
    /// keychain service broke or the disk failed to confirm the write. In these cases, the
    /// identifier may have been saved. While a sign-in is in progress, a second call has no effect.
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
    /// After a failure, ``errorMessage`` contains the reason. Call this method again. If the device
    /// is locked, call it after the device is unlocked.
    public func restoreSession() async {
        await perform { model in
            let deletions = model.deletionCount
            do {
                let user = try await model.stored.readInBackground()
                guard model.deletionCount == deletions else { return }
                model.show(user)
            } catch {
                guard model.deletionCount == deletions else { return }
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
            // No message is needed, because the user or the program canceled the sign-in.
        } catch is CancellationError {
        } catch {
            guard deletionCount == deletions else { return }
            show(error)
        }
    }

    /// Carries out a function after all functions that were called earlier.
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

    /// Signs the user out: deletes the stored identifier and then cancels a sign-in in progress.
    /// This method blocks until the keychain responds.
    ///
    /// After a failure, ``errorMessage`` contains the reason, the user is still signed in, and a
    /// sign-in in progress goes on. The identifier is still stored, unless the connection to a
    /// keychain service broke or the disk failed to confirm the write. In these cases, the
    /// identifier may have been deleted.
    public func signOut() {
        guard deleteStoredIdentifier() else { return }
        show(nil)
    }

    /// Checks whether an identifier is stored, without opening its secret. This method blocks until
    /// the keychain responds.
    ///
    /// - Returns: `false` if no identifier is stored. If the keychain can't determine this,
    ///   ``errorMessage`` contains the reason, and the result is the keychain's last report.
    ///   Without an earlier report, the result is `true`, because a program that receives `false`
    ///   would treat the user as signed out.
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

    /// Reads the stored identifier and restores the session. This is the blocking form of
    /// ``restoreSession()``.
    ///
    /// - Returns: The identifier, or `nil` if none is stored. If the keychain can't determine this,
    ///   ``errorMessage`` contains the reason, and the result is ``userIdentifier``.
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

    /// Deletes only the stored identifier: the user stays signed in during this launch, and is
    /// signed out at the next launch. If the deletion succeeds, a sign-in in progress is canceled.
    /// This method blocks until the keychain responds.
    ///
    /// After a failure, ``errorMessage`` contains the reason. The identifier is still stored,
    /// unless the connection to a keychain service broke or the disk failed to confirm the write.
    /// In these cases, the identifier may have been deleted.
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

    // MARK: State

    /// Shows the keychain's report: the stored identifier, or `nil`.
    private func show(_ user: String?) {
        isStored = user != nil
        userIdentifier = user
        isAuthenticated = user != nil
    }

    private func show(_ error: any Error) {
        errorMessage = error.localizedDescription
    }
}
