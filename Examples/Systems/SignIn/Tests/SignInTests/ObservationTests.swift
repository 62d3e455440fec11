// ObservationTests: what a user interface observes of the view model, and that the user interface
// stays responsive.

import KeychainTesting
import Observation
import Testing

@testable import SignIn

@MainActor @Suite struct `Sign-in interface` {
    let test = TestKeychain()

    @Test func `a user interface sees each change of signed-in state, loading and error`() async {
        await test.withSecItem {
            let service = PatientService()
            let model = AuthViewModel(authService: service.service, keychain: silent)
            let screen = Screen(model)
            #expect(screen.drawings == [.init(isAuthenticated: false, isLoading: false)])

            let signIn = Task { await model.signInWithApple() }
            await screen.shows(.init(isAuthenticated: false, isLoading: true))
            service.answer()
            await signIn.value
            await screen.shows(.init(isAuthenticated: true, isLoading: false))

            test.inject(.denied, times: 1)
            model.signOut()
            await screen.shows(
                .init(
                    isAuthenticated: true, isLoading: false,
                    errorMessage: "Keychain error: -25293"))

            model.signOut()
            await screen.shows(.init(isAuthenticated: false, isLoading: false))
        }
    }

    enum Property: CaseIterable {
        case isAuthenticated, isLoading, isSessionKnown, userIdentifier

        @MainActor func isSet(in model: AuthViewModel) -> Bool {
            switch self {
            case .isAuthenticated: model.isAuthenticated
            case .isLoading: model.isLoading
            case .isSessionKnown: model.isSessionKnown
            case .userIdentifier: model.userIdentifier != nil
            }
        }
    }

    @Test(arguments: Property.allCases)
    func `an observer is notified when a property changes`(property: Property) async {
        await test.withSecItem {
            let model = AuthViewModel(alice)
            await confirmation { changed in
                withObservationTracking {
                    #expect(!property.isSet(in: model))
                } onChange: {
                    changed()
                }
                await model.signInWithApple()
            }
        }
    }

    @Test func `an observer is notified when the error message changes`() async {
        await test.withSecItem {
            let model = AuthViewModel(alice)
            test.inject(.denied, times: 1)
            await confirmation { changed in
                withObservationTracking {
                    #expect(model.errorMessage == nil)
                } onChange: {
                    changed()
                }
                model.deleteToken()
            }
        }
    }

    @Test func `the main actor isn't blocked while the user takes time to sign in`() async {
        await test.withSecItem {
            let service = PatientService()
            let model = AuthViewModel(authService: service.service, keychain: silent)
            let signIn = Task { await model.signInWithApple() }
            await wait { service.requestCount == 1 }
            // In each of these turns, the user interface can work while the sign-in is in progress.
            for _ in 0..<100 {
                #expect(model.isLoading)
                await turn()
            }
            service.answer()
            await signIn.value
            #expect(!model.isLoading)
            #expect(model.isAuthenticated)
        }
    }

    @Test(arguments: ["read", "save"])
    func `the main actor isn't blocked by a slow keychain`(operation: String) async {
        let calls = Calls()
        await test.withSecItem {
            let model = AuthViewModel(alice, keychain: calls.keychain)
            calls.hold(operation)
            let call = Task {
                if operation == "read" {
                    await model.restoreSession()
                } else {
                    await model.signInWithApple()
                }
            }
            await wait { calls.isHolding }
            for _ in 0..<100 {
                #expect(model.isLoading)
                await turn()
            }
            calls.release()
            await call.value
            #expect(!model.isLoading)
        }
        #expect(calls.lines.map { $0.prefix(4) } == [operation.prefix(4)])
    }

    @Test func `the asynchronous functions use the keychain off the main actor`() async {
        let calls = Calls()
        await test.withSecItem {
            let model = AuthViewModel(alice, keychain: calls.keychain)
            await model.restoreSession()
            await model.signInWithApple()
            await model.restoreSession()
            #expect(calls.lines.count == 3)
            #expect(calls.mainActorLines.isEmpty)
            // The synchronous functions block the main actor, as their documentation says. This
            // call shows that the test detects calls on the main actor.
            #expect(model.loadStoredCredentials() == alice)
            #expect(calls.mainActorLines == ["read userIdentifier: 0"])
        }
    }
}

/// Redraws itself when the properties that it has read change, as a view does.
@MainActor private final class Screen {
    struct Drawing: Equatable {
        var isAuthenticated: Bool
        var isLoading: Bool
        var errorMessage: String?
    }

    private let model: AuthViewModel
    private(set) var drawings: [Drawing] = []

    init(_ model: AuthViewModel) {
        self.model = model
        draw()
    }

    /// Waits until the screen shows this drawing.
    func shows(_ drawing: Drawing) async {
        await wait { self.drawings.last == drawing }
    }

    private func draw() {
        withObservationTracking {
            drawings.append(
                Drawing(
                    isAuthenticated: model.isAuthenticated, isLoading: model.isLoading,
                    errorMessage: model.errorMessage))
        } onChange: { [weak self] in
            Task { @MainActor in self?.draw() }
        }
    }
}
