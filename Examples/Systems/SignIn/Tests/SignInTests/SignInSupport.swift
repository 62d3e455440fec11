// SignInSupport: code that the tests of sign-in share: users, a recorder for calls to the keychain,
// a sign-in service that a test controls, and waiting.

import Dispatch
import Foundation
import Security
import Synchronization
import Testing

@testable import SignIn

let alice = "001234.a11ce00000000000000000000000000f.0907"
let bob = "001234.b0b0000000000000000000000000000f.0907"

/// A keychain service that logs nothing.
let silent = KeychainService { _ in }

extension AuthViewModel {
    /// Creates the model of one app launch. The sign-in service returns the given identifier.
    convenience init(_ user: String, keychain: KeychainService = silent) {
        self.init(
            authService: AppleAuthService { AppleAuthCredential(user: user) }, keychain: keychain)
    }
}

/// Records the log line of each call of a keychain service, and which calls were made on the main
/// actor. A test can hold a call right after the keychain has responded.
final class Calls: Sendable {
    private struct State {
        var lines: [String] = []
        var mainActorLines: [String] = []
        var held: String?
        var isHolding = false
    }

    /// Marks the main queue, because the main actor's jobs run on the main queue, but not always on
    /// the main thread.
    private static let mainActor: DispatchSpecificKey<Void> = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()

    private let state = Mutex(State())
    private let gate = DispatchSemaphore(value: 0)

    /// A keychain service that reports its calls to this object.
    var keychain: KeychainService { KeychainService { self.note($0) } }

    var lines: [String] { state.withLock { $0.lines } }
    var mainActorLines: [String] { state.withLock { $0.mainActorLines } }

    /// Whether a call is being held.
    var isHolding: Bool { state.withLock { $0.isHolding } }

    /// Holds one call until ``release()``: the next call whose line begins with this text and that
    /// is not made on the main actor.
    func hold(_ operation: String) { state.withLock { $0.held = operation } }

    func release() { gate.signal() }

    private func note(_ line: String) {
        let isOnMainActor = DispatchQueue.getSpecific(key: Self.mainActor) != nil
        let isHeld = state.withLock { state in
            state.lines.append(line)
            if isOnMainActor { state.mainActorLines.append(line) }
            guard !isOnMainActor, let held = state.held, line.hasPrefix(held) else { return false }
            state.held = nil
            state.isHolding = true
            return true
        }
        guard isHeld else { return }
        // If the test doesn't release the call within a minute, the test fails and doesn't hang.
        #expect(gate.wait(timeout: .now() + 60) == .success)
        state.withLock { $0.isHolding = false }
    }
}

/// A sign-in service that responds when the test tells it to.
final class PatientService: Sendable {
    private struct State {
        var requestCount = 0
        var cancelledCount = 0
        var isOpen = false
    }

    private let state = Mutex(State())

    var requestCount: Int { state.withLock { $0.requestCount } }
    /// The number of requests that were answered after their task was canceled.
    var cancelledCount: Int { state.withLock { $0.cancelledCount } }

    /// Answers the waiting request, if there is one, and all later requests.
    func answer() { state.withLock { $0.isOpen = true } }

    /// A service that answers the first request with alice's identifier, and later requests with
    /// bob's.
    var service: AppleAuthService {
        AppleAuthService {
            let number = self.state.withLock { state in
                state.requestCount += 1
                return state.requestCount
            }
            while !self.state.withLock({ $0.isOpen }) { await turn() }
            if Task.isCancelled { self.state.withLock { $0.cancelledCount += 1 } }
            return AppleAuthCredential(user: number == 1 ? alice : bob)
        }
    }
}

/// Lets other jobs of the main actor run. `Task.yield()` would use the cooperative pool.
@MainActor func turn() async {
    await withCheckedContinuation { continuation in
        DispatchQueue.main.async { continuation.resume() }
    }
}

/// Yields the main actor until a condition holds. After a minute without success, the test fails.
@MainActor func wait(
    until condition: @MainActor () -> Bool, sourceLocation: SourceLocation = #_sourceLocation
) async {
    let end = ContinuousClock.now + .seconds(60)
    while !condition(), ContinuousClock.now < end { await turn() }
    #expect(condition(), sourceLocation: sourceLocation)
}

/// The persistent reference of the only item.
func persistentReference() throws -> Data {
    let search: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecReturnPersistentRef as String: true,
        kSecMatchLimit as String: kSecMatchLimitOne,
        kSecUseDataProtectionKeychain as String: true,
    ]
    var result: CFTypeRef?
    #expect(SecItemCopyMatching(search as CFDictionary, &result) == errSecSuccess)
    return try #require(result as? Data)
}

/// Adds the item as another version of the app could have stored it.
func addItem(_ data: Data, accessible: CFString = kSecAttrAccessibleAfterFirstUnlock) {
    let item: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: "com.steeven.mysubguard",
        kSecAttrAccount as String: "userIdentifier",
        kSecAttrAccessible as String: accessible,
        kSecValueData as String: data,
        kSecUseDataProtectionKeychain as String: true,
    ]
    #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
}
