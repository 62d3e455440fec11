// KeychainSession+Authentication: items that require more than an unlocked keychain.
//   (1) Apart from unlocking, the user is prompted only after an item was found to require
//       authentication, and only for the passcode or password that the item requires.
//   (2) The passcode that unlocked the keychain also proves presence: the user enters it only once.

import FoundationEssentials
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore

extension KeychainSession {
    /// Returns the one item that a selection matches, with its secret.
    ///
    /// - Throws: The errors of ``findOne(_:includesData:hasClassAndLabel:)``; ``ControlFailure`` if
    ///   the passcode or password that the item requires isn't provided; `authFailed` if it is
    ///   wrong.
    func openOne(_ queries: [ItemQuery]) throws -> ItemSnapshot {
        do {
            return try findOne(queries, includesData: true)
        } catch let failure as KeychainFailure where failure.status == .authenticationNeeded {}
        // Determine which item is meant before asking for authentication.
        let item = try findOne(queries)
        return try authenticating { authorization throws(KeychainFailure) in
            let query = ItemQuery(
                itemClass: item.itemClass, isSynchronizable: nil, reference: item.reference,
                authorization: authorization)
            let found = try keychain.perform(
                FindItems(query, Retrieval(includesData: true)), as: caller)
            guard let opened = found.first else { throw .itemNotFound }
            return opened
        }
    }

    /// Runs `body`, and repeats it with the authentication that it turns out to require. If a typed
    /// application password is wrong, asks again, at most three times in all.
    func authenticating<Result>(
        _ body: (Authorization) throws(KeychainFailure) -> Result
    ) throws -> Result {
        var authorization = Authorization()
        var attempt = 1
        while true {
            do {
                return try unlocking { () throws(KeychainFailure) in try body(authorization) }
            } catch let failure as KeychainFailure {
                switch (failure.status, failure.cause) {
                case (.authenticationNeeded, .authentication(let constraints)):
                    try add(what: constraints, to: &authorization)
                case (.authFailed, _) where source.asksForPassword && attempt < 3:
                    guard authorization.applicationPassword != nil else { throw failure }
                    attempt += 1
                    authorization.applicationPassword = try password(
                        after: "The application password is wrong.\n")
                default:
                    throw failure
                }
            }
        }
    }

    /// Adds one missing part of the authentication.
    private func add(
        what constraints: AccessConstraints, to authorization: inout Authorization
    ) throws {
        guard constraints.isSatisfied(byPresence: true, applicationPassword: true) else {
            throw ControlFailure(
                .locked,
                "The item requires a sensor or device that this computer doesn't have. It can be "
                    + "deleted, but not read.")
        }
        if constraints.requiresApplicationPassword, authorization.applicationPassword == nil {
            authorization.applicationPassword = try password(after: "")
        } else if authorization.grant == nil, constraints.asksForPasscode {
            authorization.grant = try grant()
        } else {
            throw ControlFailure(
                .locked,
                "The authentication that was provided doesn't open the "
                    + "item.")
        }
    }

    private func password(after remark: String) throws -> Data {
        if let descriptor = source.passwordDescriptor {
            return Data(try givenPassword(from: descriptor).plainBytes)
        }
        guard source.mayAsk, let terminal = Terminal() else {
            throw ControlFailure(
                .locked,
                "The item requires its application password. Provide it with "
                    + "--application-password-fd, or run this command at a terminal.")
        }
        terminal.show(remark)
        guard let typed = terminal.askHidden("Application password of the item: ") else {
            throw ControlFailure(
                .locked, "The input ended without an answer. The item was not opened.")
        }
        return Data(typed.plainBytes)
    }

    private func grant() throws -> AuthenticationGrant {
        guard try hasPasscode else {
            throw ControlFailure(
                .locked,
                "The item requires the passcode, but none is set. Set one with `keychainctl "
                    + "passcode set`.")
        }
        guard let passcode = try givenPasscode() else {
            throw ControlFailure(
                .locked,
                "The item requires the passcode, and none was entered. Enter it at a terminal, or "
                    + "provide it with --passcode-fd.")
        }
        return try keychain.perform(Authenticate(passcode: passcode))
    }
}
