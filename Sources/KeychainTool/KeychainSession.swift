// KeychainSession: one opened keychain, and the person or descriptor that can unlock it.
//   (1) The tool is the owner's: it sees every access group. New items go where the
//       entitlements say, or to the group "default".
//   (2) The user is not asked before something is found locked, and never twice for nothing: after
//       the passcode was right, a request that is still locked fails.

import KeychainRuntime
import KeychainCrypto
import KeychainEngine
import KeychainCore

struct KeychainSession {
    let keychain: KeychainHandler
    let caller: AccessGroups
    let source: PasscodeSource
    private let given = GivenPasscode()

    /// Opens the keychain, and makes it where there is none.
    init(making passcode: PasscodeSource) throws {
        self.init(passcode, try KeychainPlace.opened())
    }

    /// Opens the keychain that is there; nil where there is none.
    init?(existing passcode: PasscodeSource) throws {
        guard try KeychainPlace.holdsKeychain() else { return nil }
        self.init(passcode, try KeychainPlace.opened())
    }

    /// The keychain of the service, which all programs have in common.
    /// - Throws: ``ControlFailure`` where no service is in use.
    init(ofService passcode: PasscodeSource) throws {
        guard try KeychainPlace.service() != nil else {
            throw ControlFailure(
                .failure,
                "No keychain service is in use. Without one every process unlocks for itself and "
                    + "is locked again when it ends. `keychainctl status` says what is in use.")
        }
        self.init(passcode, try KeychainPlace.opened())
    }

    init(_ passcode: PasscodeSource, _ opened: OpenedKeychain) {
        source = passcode
        keychain = opened.keychain
        caller = AccessGroups(opened.groups.names + [AccessGroups.wildcard])
    }

    /// Closes the keychain after a change, so that its log is folded into the database now and
    /// not read through again by each process that comes after this one.
    func close() {
        keychain.close()
    }

    /// Closes the keychain after a look-up where its log is long, for the same reason. Most of the time
    /// it isn't.
    func closeIfLogIsLong() {
        keychain.closeIfLogIsLong()
    }

    var hasPasscode: Bool {
        get throws(KeychainFailure) { try keychain.perform(HasPasscode()) }
    }

    // MARK: Unlocking

    /// Runs `body`, once more after unlocking if it met something locked.
    func unlocking<Result>(_ body: () throws(KeychainFailure) -> Result) throws -> Result {
        do {
            return try body()
        } catch  where error.status == .interactionNotAllowed {
            guard try unlock() else { throw error }
            return try body()
        }
    }

    /// - Returns: False where there is no way to give the passcode.
    func unlock() throws -> Bool {
        if let descriptor = source.descriptor {
            let passcode = try SecretInput.passcode(from: descriptor)
            try keychain.perform(Unlock(passcode: passcode))
            given.passcode = passcode
            return true
        }
        guard source.mayAsk, let terminal = Terminal() else { return false }
        return try unlock(at: terminal)
    }

    /// Asks three times at the most.
    private func unlock(at terminal: borrowing Terminal) throws(KeychainFailure) -> Bool {
        var attempt = 1
        while let passcode = terminal.askHidden("Passcode of the keychain: ") {
            guard let failure = failure(of: passcode) else { return true }
            guard failure.status == .authFailed, attempt < 3 else { throw failure }
            terminal.show("The passcode is wrong.\n")
            attempt += 1
        }
        return false
    }

    /// Unlocks; nil when that succeeded.
    private func failure(of passcode: SecretBytes) -> KeychainFailure? {
        do {
            try keychain.perform(Unlock(passcode: passcode))
            given.passcode = passcode
            return nil
        } catch {
            return error
        }
    }

    /// The passcode that unlocked the keychain, or else one that is given now and unlocks it; nil
    /// where there is no way to give it.
    func givenPasscode() throws -> SecretBytes? {
        if given.passcode == nil, try !unlock() { return nil }
        return given.passcode
    }

    /// The application password of a descriptor, for each item that asks for one.
    func givenPassword(from descriptor: Int32) throws(ControlFailure) -> SecretBytes {
        if let password = given.applicationPassword { return password }
        let password = try SecretInput.fromDescriptor(descriptor, "application password")
        given.applicationPassword = password
        return password
    }

    /// What was given once, for as long as the session lasts: a descriptor can't be read twice. A
    /// passcode was right, too.
    private final class GivenPasscode {
        var passcode: SecretBytes?
        var applicationPassword: SecretBytes?
    }

    // MARK: Finding

    /// All items that a selection means, in the order of addition; of each class `limit` at the
    /// most.
    func find(
        _ queries: [ItemQuery], limit: Int? = nil, includesData: Bool = false
    ) throws -> [ItemSnapshot] {
        try unlocking { () throws(KeychainFailure) in
            var found: [ItemSnapshot] = []
            var damage: KeychainFailure?
            for query in queries {
                switch search(query, Retrieval(limit: limit, includesData: includesData)) {
                case .success(let items):
                    found = found.isEmpty ? items : Self.merged(found, items)
                case .failure(let failure) where failure.status == .itemNotFound:
                    break
                case .failure(let failure) where failure.status == .decode:
                    // A damaged item of one class doesn't hide the whole ones of the other.
                    damage = failure
                case .failure(let failure):
                    throw failure
                }
            }
            if found.isEmpty, let damage { throw damage }
            return found
        }
    }

    private func search(
        _ query: ItemQuery, _ retrieval: Retrieval
    ) -> Result<[ItemSnapshot], KeychainFailure> {
        Result { () throws(KeychainFailure) in
            try keychain.perform(FindItems(query, retrieval), as: caller)
        }
    }

    /// Two lists, each in the order of addition, as one. Between them the dates decide.
    private static func merged(_ first: [ItemSnapshot], _ second: [ItemSnapshot]) -> [ItemSnapshot]
    {
        var result: [ItemSnapshot] = []
        result.reserveCapacity(first.count + second.count)
        var rest = second[...]
        for item in first {
            while let next = rest.first, next.creationSeconds < item.creationSeconds {
                result.append(next)
                rest.removeFirst()
            }
            result.append(item)
        }
        return result + rest
    }

    /// The one item that a selection means.
    /// - Throws: ``ControlFailure`` that tells several apart; `itemNotFound` for none.
    func findOne(_ queries: [ItemQuery], includesData: Bool = false) throws -> ItemSnapshot {
        var queries = queries
        var found: [ItemSnapshot] = []
        // Who may not administer isn't told; the search says then what is locked.
        let status = try? keychain.perform(ReadStatus())
        if status?.lockState == .beforeFirstUnlock {
            // Whether a locked item is meant too, nothing tells.
            let readable = queries.flatMap(\.ofOpenTier)
            do {
                found = try find(readable, limit: 2, includesData: includesData)
            } catch let failure as KeychainFailure where failure.status == .decode {
                // What is damaged or lost among these may be there among the others.
            }
            if !found.isEmpty { queries = readable }
        }
        if found.isEmpty { found = try find(queries, limit: 2, includesData: includesData) }
        guard let item = found.first else { throw KeychainFailure.itemNotFound }
        guard found.count == 1 else { throw ControlFailure.ambiguous(try find(queries)) }
        return item
    }
}

extension ItemQuery {
    /// The same for each protection class that is always readable.
    fileprivate var ofOpenTier: [ItemQuery] {
        guard protection == nil else { return [] }
        return ProtectionClass.allCases.filter { $0.tier == .open }.map { protection in
            var query = self
            query.protection = protection
            return query
        }
    }
}

extension ItemSnapshot {
    /// Since 2001-01-01; 0 where the item has no date.
    var creationSeconds: Double { seconds(of: .creationDate) }
    var modificationSeconds: Double { seconds(of: .modificationDate) }

    private func seconds(of attribute: Attribute) -> Double {
        if case .date(let seconds) = attributes[attribute] { seconds } else { 0 }
    }
}
