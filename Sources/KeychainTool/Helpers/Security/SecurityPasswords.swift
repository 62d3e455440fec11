// SecurityPasswords: performs the commands of macOS's security(1) on the items of the keychain.
//   (1) The items are those that all other programs use: generic and internet passwords with their
//       attributes. If several match, usually the one that was added first is used.
//   (2) A failure of the keychain has the number and, in the most common cases, the text that macOS
//       gives it.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

/// Executes all commands of a process on one keychain.
final class SecurityPasswords {
    private let source = PasscodeSource()
    private var session: KeychainSession?
    private var hasChanged = false

    /// Ends the session after the last command. If no command made a change, the keychain is closed
    /// only if its write-ahead log is long; otherwise it stays open until the process ends.
    func close() {
        if hasChanged {
            session?.close()
        } else {
            session?.closeIfLogIsLong()
        }
    }

    func run(_ request: SecurityRequest, asking: () throws -> Data) throws {
        try KeychainPlace.connect()
        try require(request.keychains, request.verb)
        do {
            if request.verb.adds {
                try add(request, asking)
            } else {
                try find(request)
            }
        } catch let failure as KeychainFailure {
            throw Self.complaint(of: failure, Self.function(of: request))
        } catch let failure as ControlFailure {
            let status = failure.status == .locked ? Status.interactionNotAllowed.rawValue : 1
            throw SecurityComplaint(status: status, message: failure.message)
        }
    }

    // MARK: The keychain

    /// Checks the names of keychains. The user has only one keychain, which can be named by its
    /// path or by the names of macOS's login keychain.
    private func require(_ keychains: [String], _ verb: SecurityVerb) throws {
        for name in keychains {
            let last = name.split(separator: "/").last ?? ""
            guard last == "login.keychain" || last == "login.keychain-db" || name == path else {
                let function =
                    verb.adds
                    ? "SecKeychainItemCreateFromContent (\(name))" : "SecKeychainSearchCopyNext"
                throw SecurityComplaint(
                    status: -25294,
                    message: "\(function): The specified keychain could not be found.")
            }
        }
    }

    /// The path of the keychain, or an empty string if it can't be determined.
    private var path: String { (try? KeychainPlace.folder().directory) ?? "" }

    private func existing() throws -> KeychainSession {
        if session == nil { session = try KeychainSession(existing: source) }
        guard let session else { throw KeychainFailure.itemNotFound }
        return session
    }

    private func making() throws -> KeychainSession {
        let opened = try session ?? KeychainSession(making: source)
        session = opened
        return opened
    }

    // MARK: Finding and deleting

    private func find(_ request: SecurityRequest) throws {
        let verb = request.verb
        // Without attributes, an arbitrary item would be deleted.
        guard verb.finds || !request.attributes.isEmpty else {
            throw SecurityComplaint(status: SecurityComplaint.wrongUsage, usage: verb)
        }
        let session = try existing()
        let query = ItemQuery(
            itemClass: verb.itemClass, attributes: request.attributes, isSynchronizable: nil)
        guard let item = try session.find([query], limit: 1).first else {
            throw KeychainFailure.itemNotFound
        }
        let reference = Self.query(of: item)
        var secret: [UInt8]?
        if request.showsSecret || request.showsSecretOnly {
            ProcessProtection.beginHoldingSecrets()
            secret = Array(try session.openOne([reference]).data ?? Data())
        }
        if request.showsSecretOnly {
            return try Output.write(SecurityListing.line(secret ?? []))
        }
        try Output.print(SecurityListing.text(of: item, in: path))
        if let secret {
            let line = "password: \(SecurityListing.buffer(secret))\n"
            _ = Descriptor.write(Array(line.utf8), to: STDERR_FILENO)
        }
        guard !verb.finds else { return }
        hasChanged = true
        _ = try session.unlocking { () throws(KeychainFailure) in
            try session.keychain.perform(
                DeleteItems(reference, tombstones: .automatic), as: session.caller)
        }
        Output.complain("password has been deleted.")
    }

    private static func query(
        of item: ItemSnapshot, _ authorization: Authorization = Authorization()
    ) -> ItemQuery {
        ItemQuery(
            itemClass: item.itemClass, isSynchronizable: nil, reference: item.reference,
            authorization: authorization)
    }

    // MARK: Adding

    private func add(_ request: SecurityRequest, _ asking: () throws -> Data) throws {
        ProcessProtection.beginHoldingSecrets()
        let secret: Data? =
            switch request.secret {
            case .given(let data): data
            case .asked: try asking()
            case nil: nil
            }
        let verb = request.verb
        var attributes = request.attributes
        attributes[.label] = attributes[.label] ?? attributes[verb.place]
        let names = verb.itemClass.primaryKey
        let keys = attributes.filter { names.contains($0.key) }
        let remarks = attributes.filter { !names.contains($0.key) }
        let session = try making()
        hasChanged = true
        if request.updates {
            let query = ItemQuery(
                itemClass: verb.itemClass, attributes: keys, isSynchronizable: nil)
            if let item = try session.find([query], limit: 1).first {
                // Without a new password, the item keeps its present one.
                let changes = ItemChanges(attributes: remarks, data: secret)
                _ = try session.authenticating { authorization throws(KeychainFailure) in
                    try session.keychain.perform(
                        UpdateItems(Self.query(of: item, authorization), changes),
                        as: session.caller)
                }
                return
            }
        }
        var whole = keys
        if verb == .addInternet {
            whole[.authenticationType] = whole[.authenticationType] ?? .string("dflt")
        }
        try ItemSaving(itemClass: verb.itemClass, keys: whole, remarks: remarks, isNew: true)
            .save(secret ?? Data(), in: session)
    }

    // MARK: Failures

    /// The name of the Apple function that macOS shows in the error.
    private static func function(of request: SecurityRequest) -> String {
        switch request.verb {
        case .addGeneric: "SecKeychainItemCreateFromContent (<default>)"
        case .addInternet: "SecKeychainAddInternetPassword <NULL>"
        case .findGeneric, .findInternet: "SecKeychainItemCopyContent"
        case .deleteGeneric, .deleteInternet: "SecKeychainItemDelete"
        }
    }

    private static func complaint(
        of failure: KeychainFailure, _ function: String
    ) -> SecurityComplaint {
        let words: String
        var function = function
        switch failure.status {
        case .itemNotFound:
            function = "SecKeychainSearchCopyNext"
            words = "The specified item could not be found in the keychain."
        case .duplicateItem: words = "The specified item already exists in the keychain."
        case .interactionNotAllowed: words = "User interaction is not allowed."
        case .authFailed: words = "The user name or passphrase you entered is not correct."
        default: words = escapedForLine(failure.reason)
        }
        return SecurityComplaint(
            status: failure.status.rawValue, message: "\(function): \(words)")
    }
}
