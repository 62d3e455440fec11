// Access control on items, through the engine and through the SecItem functions: when the user is
// prompted, and what happens without a user.

#if !canImport(Darwin)

import Foundation
import KeychainAuthentication
import KeychainCore
import KeychainTesting
import Testing

@testable import Keychain

@Suite struct AccessControlTests {
    private let test = TestKeychain()

    private static let ways = [Way.typedInMemory, .secItemInMemory]

    init() throws {
        try test.setPasscode("1234")
    }

    private func keychain(_ way: Way) -> Keychain {
        Keychain(
            service: "com.example.app",
            in: way == .typedInMemory ? test.database : test.secItemDatabase)
    }

    private func key(_ control: Keychain.AccessControl?) -> KeychainKey<String> {
        KeychainKey("vault", accessibility: .whenUnlocked, accessControl: control)
    }

    @Test(arguments: ways, [Keychain.AccessControl.userPresence, .devicePasscode])
    func `saving a new item that requires presence or passcode doesn't prompt, and loading does`(
        way: Way, control: Keychain.AccessControl
    ) throws {
        let keychain = keychain(way)
        try keychain.save("secret", for: key(control))
        #expect(test.askedQuestions.isEmpty)
        #expect(failure { _ = try keychain.load(key(control)) }?.code == .interactionNotAllowed)
        test.person = .owner
        #expect(try keychain.load(key(control)) == "secret")
        #expect(test.askedQuestions.count == 1)
        test.person = .stranger
        let refused = failure { _ = try keychain.load(key(control)) }
        #expect(refused?.code == .authFailed)
        #expect(refused?.operation == .load)
        #expect(refused?.service == "com.example.app")
        #expect(refused?.account == "vault")
        test.person = .declining
        #expect(failure { _ = try keychain.load(key(control)) }?.code == .userCanceled)
    }

    @Test(arguments: ways)
    func `listing, reading attributes and deleting never prompt`(way: Way) throws {
        test.person = .owner
        let keychain = keychain(way)
        try keychain.add("secret", for: key(.userPresence))
        #expect(try keychain.exists(key(nil)))
        #expect(try keychain.items().map(\.account) == ["vault"])
        #expect(keychain.availability(of: key(nil)).state == .locked)
        #expect(try keychain.delete(key(nil)))
        #expect(test.askedQuestions.isEmpty)
        #expect(try !keychain.exists(key(nil)))
    }

    @Test(arguments: ways)
    func `an item's attributes include its access control`(way: Way) throws {
        let keychain = keychain(way)
        let control = Keychain.AccessControl.devicePasscode.withApplicationPassword
        test.person = TestKeychain.Person(passcodes: [.right], applicationPassword: "open")
        try keychain.save("secret", for: key(control))
        #expect(try keychain.item(key(nil))?.accessControl == control)
        #expect(try keychain.item(key(nil))?.accessibility == .whenUnlocked)
        for control in [
            Keychain.AccessControl.userPresence, .biometryAny, .biometryCurrentSet,
            .applicationPassword,
        ] {
            try keychain.delete(key(nil))
            try keychain.save("secret", for: key(control))
            #expect(try keychain.items().map(\.accessControl) == [control])
        }
        #expect("\(control)" == "devicePasscode, applicationPassword")
        try keychain.save("other", for: KeychainKey("plain"))
        #expect(try keychain.item(.account("plain"))?.accessControl == nil)
    }

    @Test(arguments: ways)
    func `a save over a protected item prompts, and the item gets the key's access control`(
        way: Way
    ) throws {
        let keychain = keychain(way)
        try keychain.save("old", for: key(.userPresence))
        #expect(
            failure { try keychain.save("new", for: key(nil)) }?.code == .interactionNotAllowed)
        test.person = .owner
        #expect(try keychain.load(key(nil)) == "old")
        try keychain.save("new", for: key(nil))
        test.person = nil
        #expect(try keychain.load(key(nil)) == "new")
        try keychain.save("newer", for: key(.userPresence))
        #expect(failure { _ = try keychain.load(key(nil)) }?.code == .interactionNotAllowed)
    }

    @Test(arguments: ways)
    func `an update prompts once`(way: Way) throws {
        let keychain = keychain(way)
        try keychain.save("old", for: key(.userPresence))
        test.person = .owner
        try keychain.update(key(.userPresence)) { $0 = ($0 ?? "") + "er" }
        #expect(test.askedQuestions.count == 1)
        #expect(try keychain.load(key(nil)) == "older")
    }

    @Test(arguments: ways)
    func `a context remembers a successful authentication`(way: Way) throws {
        let context = LAContext()
        context.localizedReason = "show your notes"
        let keychain = keychain(way).authenticating(with: context)
        try keychain.save("secret", for: key(.userPresence))
        test.person = .owner
        #expect(try keychain.load(key(nil)) == "secret")
        #expect(try keychain.load(key(nil)) == "secret")
        #expect(test.askedQuestions.map(\.reason) == ["show your notes"])
        test.person = nil
        #expect(try keychain.load(key(nil)) == "secret")
        context.invalidate()
        #expect(throws: KeychainError.self) { try keychain.load(key(nil)) }
    }

    @Test(arguments: ways)
    func `without a context, each operation prompts again and shows the reason`(way: Way) throws {
        let keychain = keychain(way).authenticating(reason: "show your notes")
        try keychain.save("secret", for: key(.userPresence))
        test.person = .owner
        _ = try keychain.load(key(nil))
        _ = try keychain.load(key(nil))
        #expect(test.askedQuestions.map(\.reason) == ["show your notes", "show your notes"])
    }

    @Test(arguments: ways)
    func `without interaction there is no prompt, and the item isn't changed`(way: Way) async throws
    {
        test.person = .owner
        let keychain = keychain(way)
        try await keychain.save("secret", for: key(.userPresence))
        let silent = keychain.withoutInteraction
        let error = failure { _ = try silent.load(key(nil)) }
        #expect(error?.code == .interactionNotAllowed)
        await #expect(throws: KeychainError.self) { try await silent.save("x", for: key(nil)) }
        #expect(test.askedQuestions.isEmpty)
        #expect(try await keychain.load(key(nil)) == "secret")
        #expect(test.askedQuestions.count == 1)
    }

    @Test(arguments: ways)
    func `only the application password that encrypted an item opens it`(
        way: Way
    ) throws {
        func keychain(_ password: String) -> Keychain {
            let context = LAContext()
            #expect(context.setCredential(Data(password.utf8), type: .applicationPassword))
            return self.keychain(way).authenticating(with: context)
        }
        try keychain("open").save("secret", for: key(.applicationPassword))
        #expect(try keychain("open").load(key(nil)) == "secret")
        let wrong = failure { _ = try keychain("shut").load(key(nil)) }
        #expect(wrong?.code == .authFailed)
        #expect(wrong.map { "\($0)".contains("shut") } == false)
        let none = failure { _ = try self.keychain(way).load(key(nil)) }
        // If the program supplies no password, the error is the same as for a wrong password.
        #expect(none?.code == .authFailed)
        let silent = failure { _ = try self.keychain(way).withoutInteraction.load(key(nil)) }
        #expect(silent?.code == .interactionNotAllowed)
        #expect(test.askedQuestions.isEmpty)
        test.person = TestKeychain.Person(passcodes: [], applicationPassword: "open")
        #expect(try self.keychain(way).load(key(nil)) == "secret")
        #expect(test.askedQuestions.count == 1)
    }

    /// The prompts during an operation.
    private func asked(_ body: () throws -> Void) rethrows -> [TestKeychain.AskedQuestion.Subject] {
        let count = test.askedQuestions.count
        try body()
        return test.askedQuestions.dropFirst(count).map(\.subject)
    }

    @Test(arguments: ways)
    func `saving a new item prompts only for the new password`(way: Way) throws {
        let keychain = keychain(way)
        let control = Keychain.AccessControl.userPresence.withApplicationPassword
        test.person = TestKeychain.Person(applicationPassword: "open")
        let saving = try asked { try keychain.save("secret", for: key(control)) }
        #expect(saving == [.newApplicationPassword, .newApplicationPassword])
        let adding = try asked {
            try keychain.add("x", for: KeychainKey("other", accessControl: control))
        }
        #expect(adding == saving)
        var loaded: String?
        let loading = try asked { loaded = try keychain.load(key(nil)) }
        #expect(loaded == "secret")
        #expect(loading == [.passcode, .applicationPassword])
    }

    @Test(arguments: ways)
    func `a save over an item prompts once for its existing password`(way: Way) throws {
        let keychain = keychain(way)
        test.person = TestKeychain.Person(applicationPassword: "open")
        try keychain.save("old", for: key(.applicationPassword))
        let control = Keychain.AccessControl.userPresence.withApplicationPassword
        let first = try asked { try keychain.save("new", for: key(control)) }
        #expect(first == [.applicationPassword])
        let second = try asked { try keychain.save("newer", for: key(.applicationPassword)) }
        #expect(second == [.passcode, .applicationPassword])
        #expect(try keychain.load(key(nil)) == "newer")
        // A wrong password isn't taken as a new password, and the item isn't changed.
        test.person = TestKeychain.Person(applicationPassword: "other")
        let third = asked {
            let error = failure { try keychain.save("lost", for: key(.applicationPassword)) }
            #expect(error?.code == .authFailed)
        }
        // After a wrong password, the user is asked twice more.
        #expect(third == [.applicationPassword, .applicationPassword, .applicationPassword])
        test.person = TestKeychain.Person(applicationPassword: "open")
        #expect(try keychain.load(key(nil)) == "newer")
    }

    @Test(arguments: ways)
    func `adding a password to an item prompts for the new password`(way: Way) throws {
        let keychain = keychain(way)
        try keychain.save("plain", for: key(nil))
        test.person = TestKeychain.Person(applicationPassword: "open")
        let first = try asked { try keychain.save("sealed", for: key(.applicationPassword)) }
        #expect(first == [.newApplicationPassword, .newApplicationPassword])
        #expect(try keychain.load(key(nil)) == "sealed")
        try keychain.delete(key(nil))
        try keychain.save("guarded", for: key(.userPresence))
        let control = Keychain.AccessControl.userPresence.withApplicationPassword
        let second = try asked { try keychain.save("both", for: key(control)) }
        #expect(second == [.passcode, .newApplicationPassword, .newApplicationPassword])
        #expect(try keychain.load(key(nil)) == "both")
    }

    @Test(arguments: ways)
    func `an access control that requires a passcode can't be used without a passcode`(
        way: Way
    ) throws {
        let fresh = TestKeychain()
        let keychain = Keychain(
            service: "s", in: way == .typedInMemory ? fresh.database : fresh.secItemDatabase)
        #expect(
            failure { try keychain.save("x", for: key(.userPresence)) }?.code == .authFailed)
        #expect(try keychain.items().isEmpty)
    }

    @Test(arguments: ways)
    func `a synchronizable item can't have an access control`(way: Way) throws {
        let keychain = Keychain(
            service: "s", synchronizable: true,
            in: way == .typedInMemory ? test.database : test.secItemDatabase)
        let key = KeychainKey<String>("a", accessControl: .userPresence)
        let error = failure { try keychain.save("x", for: key) }
        #expect(error?.code == .param)
        #expect(error?.failureReason == "A synchronizable item can't have an access control.")
        #expect(try keychain.items().isEmpty)
    }

    @MainActor @Test(arguments: ways)
    func `observing an item never prompts`(way: Way) async throws {
        let keychain = keychain(way)
        try await keychain.save("secret", for: key(.userPresence))
        test.person = .owner
        var states = keychain.changes(of: key(nil)).makeAsyncIterator()
        #expect(await states.next()?.error?.code == .interactionNotAllowed)
        let secret = ObservableSecret(key(nil), in: keychain)
        #expect(await secret.ready().error?.code == .interactionNotAllowed)
        #expect(test.askedQuestions.isEmpty)
    }

    /// An observable secret gets the application password from its context. Only the engine is
    /// tested: with the SecItem functions, an observable secret ignores its context.
    @MainActor @Test(arguments: [true, false])
    func `only observable secrets that have an item's application password show its value`(
        isContextFirst: Bool
    ) async throws {
        let way = Way.typedInMemory
        let context = LAContext()
        #expect(context.setCredential(Data("open".utf8), type: .applicationPassword))
        let open = keychain(way).authenticating(with: context)
        let plain = keychain(way).withoutInteraction
        try await open.save("secret", for: key(.applicationPassword))
        let shown: (with: ObservableSecret<String>, without: ObservableSecret<String>)
        if isContextFirst {
            shown.with = ObservableSecret(key(nil), in: open)
            await shown.with.ready()
            shown.without = ObservableSecret(key(nil), in: plain)
        } else {
            shown.without = ObservableSecret(key(nil), in: plain)
            await shown.without.ready()
            shown.with = ObservableSecret(key(nil), in: open)
        }
        #expect(await shown.with.ready().value == "secret")
        #expect(await shown.without.ready().error?.code == .interactionNotAllowed)
    }

    @Test(arguments: ways)
    func `a migration keeps the access control, in place and to another keychain`(way: Way) throws {
        let keychain = keychain(way)
        try keychain.save("secret", for: key(.devicePasscode))
        test.person = .owner
        let stricter = Keychain(
            service: keychain.service, accessibility: .whenUnlockedThisDeviceOnly,
            in: keychain.database)
        #expect(try stricter.migrateAll(from: keychain).isComplete)
        let changed = try #require(try stricter.item(key(nil)))
        #expect(changed.accessibility == .whenUnlockedThisDeviceOnly)
        #expect(changed.accessControl == .devicePasscode)
        let elsewhere = Keychain(service: "other", in: keychain.database)
        #expect(try elsewhere.migrateAll(from: keychain).isComplete)
        #expect(try elsewhere.item(key(nil))?.accessControl == .devicePasscode)
        #expect(try keychain.items().isEmpty)
    }

    @Test(arguments: ways)
    func `a migration that changes an item in place prompts once`(way: Way) throws {
        let keychain = keychain(way)
        try keychain.save("secret", for: key(.userPresence))
        test.person = .owner
        let stricter = Keychain(
            service: keychain.service, accessibility: .whenUnlockedThisDeviceOnly,
            in: keychain.database)
        let outcome = try stricter.migrate(KeychainKey<String>("vault"), from: keychain)
        #expect(outcome == .changedInPlace)
        #expect(test.askedQuestions.count == 1)
    }

    @Test func `a protected item whose access control can't be identified isn't migrated`()
        throws
    {
        let source = keychain(.secItemInMemory)
        // Another program may have saved items with access controls that this API can't identify.
        // The first item requires authentication, and the second doesn't.
        try source.save(
            "guarded", for: key(Keychain.AccessControl([.biometryAny, .devicePasscode, .or])))
        try source.save(
            "open", for: KeychainKey("open", accessControl: Keychain.AccessControl(.and)))
        test.person = .owner
        #expect(try source.item(key(nil))?.accessControl == nil)
        let before = try source.items()
        let stricter = Keychain(
            service: source.service, accessibility: .whenUnlockedThisDeviceOnly,
            in: source.database)
        let destination = Keychain(service: "other", in: source.database)
        for place in [stricter, destination] {
            let error = failure {
                try place.migrate(KeychainKey<String>("vault"), from: source)
            }
            #expect(error?.code == .unimplemented && error?.operation == .migrate)
            #expect(
                error?.failureReason?.contains("a key that specifies its access control") == true)
        }
        #expect(try source.items() == before)
        #expect(try destination.items().isEmpty)
        let report = try destination.migrateAll(from: source)
        #expect(
            Dictionary(uniqueKeysWithValues: report.records.map { ($0.account, $0.outcome) })
                == ["vault": .failed, "open": .migrated])
        #expect(try source.load(key(nil)) == "guarded")
        #expect(try destination.load(KeychainKey<String>("open")) == "open")
        // As the error recommends, this key specifies an access control.
        #expect(try destination.migrate(key(.userPresence), from: source) == .migrated)
        #expect(try destination.item(key(nil))?.accessControl == .userPresence)
        #expect(try source.items().isEmpty)
    }

    @Test(arguments: ways)
    func `a migration to a destination with the same value keeps the stricter protection`(
        way: Way
    ) throws {
        let source = keychain(way)
        let destination = Keychain(service: "other", in: source.database)
        test.person = .owner
        try source.save("secret", for: key(.devicePasscode))
        try destination.save("secret", for: key(nil))
        #expect(try destination.migrateAll(from: source).isComplete)
        #expect(try destination.item(key(nil))?.accessControl == .devicePasscode)
        #expect(try destination.load(key(nil)) == "secret")
        #expect(try source.items().isEmpty)
        // An unprotected source item with the same value doesn't change the destination's
        // protection.
        try source.save("secret", for: key(nil))
        #expect(try destination.migrateAll(from: source).isComplete)
        #expect(try destination.item(key(nil))?.accessControl == .devicePasscode)
    }

    @Test func `a context supplies its credential where interaction isn't allowed`() throws {
        let context = LAContext()
        #expect(context.setCredential(Data("open".utf8), type: .applicationPassword))
        let keychain = keychain(.typedInMemory)
        let knowing = keychain.authenticating(with: context)
        try knowing.save("secret", for: key(.applicationPassword))
        #expect(try knowing.withoutInteraction.load(key(nil)) == "secret")
        let silent = keychain.withoutInteraction
        #expect(try silent.authenticating(with: context).load(key(nil)) == "secret")
        let error = failure {
            _ = try silent.authenticating(reason: "why").load(key(nil))
        }
        #expect(error?.code == .interactionNotAllowed)
        #expect(test.askedQuestions.isEmpty)
    }
}

#endif
