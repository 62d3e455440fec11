// KeychainSession: an opened keychain, and the source of its passcode: the user or a file
// descriptor.
//   (1) The tool acts for the keychain's owner: it requests every access group. A service can grant
//       fewer groups. New items go into the first group of the entitlements or, without
//       entitlements, into the group "default".
//   (2) `unlocking` prompts the user only after a request failed because something is locked. If
//       the request fails again after a correct passcode, the user is not prompted again. `unlock`
//       prompts at each call, and `givenPasscode` only if the passcode isn't known yet. If a
//       descriptor for the passcode was given, all three read the passcode from it instead.

import KeychainRuntime
import KeychainCrypto
import KeychainEngine
import KeychainCore

struct KeychainSession {
    let keychain: KeychainHandler
    let caller: AccessGroups
    let source: PasscodeSource
    private let given = GivenPasscode()

    /// Opens the keychain, and creates it if it doesn't exist.
    init(making passcode: PasscodeSource) throws {
        self.init(passcode, try KeychainPlace.opened())
    }

    /// Opens the existing keychain. Returns `nil` if there is none. With a service, there is always
    /// a keychain: see ``KeychainPlace/holdsKeychain()``.
    init?(existing passcode: PasscodeSource) throws {
        guard try KeychainPlace.holdsKeychain() else { return nil }
        self.init(passcode, try KeychainPlace.opened())
    }

    /// Opens the keychain of the service in use. Locking or unlocking that keychain affects all
    /// programs that use it through the service.
    /// - Throws: ``ControlFailure`` if no service is in use.
    init(ofService passcode: PasscodeSource) throws {
        guard try KeychainPlace.service() != nil else {
            throw ControlFailure(
                .failure,
                "No keychain service is in use. Without a service, each process unlocks the "
                    + "keychain only for itself, until the process ends. `keychainctl status` "
                    + "shows what is in use.")
        }
        self.init(passcode, try KeychainPlace.opened())
    }

    init(_ passcode: PasscodeSource, _ opened: OpenedKeychain) {
        source = passcode
        keychain = opened.keychain
        caller = AccessGroups(opened.groups.names + [AccessGroups.wildcard])
    }

    /// Closes the keychain after a change, so that its write-ahead log is checkpointed and later
    /// processes don't have to read the log. With a service, this does nothing: the service keeps
    /// the keychain open.
    func close() {
        keychain.close()
    }

    /// Closes the keychain after a search, for the same reason as ``close()``, but only if its log
    /// is long, which is rare.
    func closeIfLogIsLong() {
        keychain.closeIfLogIsLong()
    }

    /// Whether there is a passcode that a user can be asked for.
    var hasPasscode: Bool {
        get throws(KeychainFailure) { try keychain.perform(HasPasscode()) }
    }

    /// Whether the keychain can be locked, because a passcode or a credential is set.
    var isLockable: Bool {
        get throws(KeychainFailure) { try keychain.perform(ReadStatus()).hasPasscode }
    }

    // MARK: Unlocking

    /// Runs `body`. If something was locked, unlocks the keychain and runs `body` once more.
    func unlocking<Result>(_ body: () throws(KeychainFailure) -> Result) throws -> Result {
        do {
            return try body()
        } catch  where error.status == .interactionNotAllowed {
            guard try unlock() else { throw error }
            return try body()
        }
    }

    /// Unlocks the keychain with the passcode from the descriptor or, without a descriptor, from
    /// the user.
    /// - Returns: `false` if the passcode can't be obtained.
    /// - Throws: ``ControlFailure/lockedWithoutPasscode`` if no passcode is set. In this case the
    ///   user isn't asked.
    func unlock() throws -> Bool {
        guard try hasPasscode else { throw ControlFailure.lockedWithoutPasscode }
        if let descriptor = source.descriptor {
            let passcode = try SecretInput.passcode(from: descriptor)
            try keychain.perform(Unlock(passcode: passcode))
            given.passcode = passcode
            return true
        }
        guard source.mayAsk, let terminal = Terminal() else { return false }
        return try unlock(at: terminal)
    }

    /// Asks at most three times.
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

    /// Tries to unlock the keychain. Returns `nil` on success.
    private func failure(of passcode: SecretBytes) -> KeychainFailure? {
        do {
            try keychain.perform(Unlock(passcode: passcode))
            given.passcode = passcode
            return nil
        } catch {
            return error
        }
    }

    /// The passcode with which this session unlocked the keychain. If the session has no passcode
    /// yet, obtains one and unlocks the keychain with it. Returns `nil` if no passcode can be
    /// obtained.
    func givenPasscode() throws -> SecretBytes? {
        if given.passcode == nil, try !unlock() { return nil }
        return given.passcode
    }

    /// The application password from a descriptor. It is used for every item that requires one.
    func givenPassword(from descriptor: Int32) throws(ControlFailure) -> SecretBytes {
        if let password = given.applicationPassword { return password }
        let password = try SecretInput.fromDescriptor(descriptor, "application password")
        given.applicationPassword = password
        return password
    }

    /// Holds the passcode, and the application password from a descriptor, for the rest of the
    /// session, because a descriptor can't be read twice. The passcode has been verified.
    private final class GivenPasscode {
        var passcode: SecretBytes?
        var applicationPassword: SecretBytes?
    }

    // MARK: Finding

    /// Returns the items that a selection matches. Without a limit, all are returned, in the order
    /// in which they were added. With a limit, each query returns at most `limit` items in any
    /// order. Damaged items are skipped if an intact one matches.
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
                    // A damaged item that matches one query must not hide the intact items that
                    // match another.
                    damage = failure
                case .failure(let failure):
                    throw failure
                }
            }
            if found.isEmpty, let damage { throw damage }
            return found
        }
    }

    /// Whether a search with these queries has skipped damaged items. Without a service, the result
    /// is `true` if this process has reported any damage so far, even outside these searches.
    ///
    /// The engine of a service reports skipped items only in the service's log. But a search that
    /// matches nothing fails if it reaches a damaged item. So each query is repeated with a
    /// creation date that no item has. The index contains no creation dates, so the search reaches
    /// the same items.
    func hasSkippedDamage(_ queries: [ItemQuery]) -> Bool {
        guard case .service = keychain else { return EngineLog.tellsOfDamage }
        return queries.contains { query in
            var query = query
            query.attributes[.creationDate] = .date(-.greatestFiniteMagnitude)
            guard case .failure(let failure) = search(query, Retrieval(limit: nil)) else {
                return false
            }
            // Items that were set aside or lost earlier don't count: a search doesn't reach them,
            // so it can't skip them. The repeated query reports such items only because it matches
            // nothing.
            return failure.cause == .damage && failure != .lostItems
                && failure != failure.item.map { KeychainFailure.setAsideItem($0) }
        }
    }

    private func search(
        _ query: ItemQuery, _ retrieval: Retrieval
    ) -> Result<[ItemSnapshot], KeychainFailure> {
        Result { () throws(KeychainFailure) in
            try keychain.perform(FindItems(query, retrieval), as: caller)
        }
    }

    /// Merges two lists, each in the order of addition. The creation dates determine the order
    /// between them.
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

    /// Returns the one item that a selection matches. `hasClassAndLabel`: whether the command can
    /// select items by their class and label.
    /// - Throws: ``ControlFailure`` with the differences if several items match; `itemNotFound` if
    ///   none does.
    func findOne(
        _ queries: [ItemQuery], includesData: Bool = false, hasClassAndLabel: Bool = true
    ) throws -> ItemSnapshot {
        var queries = queries
        var found: [ItemSnapshot] = []
        // A caller without administrative rights gets no status, and searches all items. Before the
        // first unlock, the search of all items fails because items are locked, and `find` then
        // tries to unlock the keychain.
        let status = try? keychain.perform(ReadStatus())
        if status?.lockState == .beforeFirstUnlock {
            // Search the readable items first: whether a locked item also matches can't be
            // determined.
            let readable = queries.flatMap(\.ofOpenTier)
            do {
                found = try find(readable, limit: 2, includesData: includesData)
            } catch let failure as KeychainFailure where failure.status == .decode {
                // Items of the open tier are damaged or lost. The full search may still find an
                // item.
            }
            if !found.isEmpty { queries = readable }
        }
        if found.isEmpty { found = try find(queries, limit: 2, includesData: includesData) }
        guard let item = found.first else { throw KeychainFailure.itemNotFound }
        guard found.count == 1 else {
            throw ControlFailure.ambiguous(try find(queries), hasClassAndLabel: hasClassAndLabel)
        }
        return item
    }
}

extension ControlFailure {
    static let lockedWithoutPasscode = ControlFailure(
        .locked, "No passcode is set. A credential or a recovery code unlocks the keychain.")
}

extension ItemQuery {
    /// The same query, once for each protection class that is always readable. Empty if the query
    /// already specifies a protection class.
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
    /// Seconds since 2001-01-01, or 0 if the item has no date.
    var creationSeconds: Double { seconds(of: .creationDate) }
    var modificationSeconds: Double { seconds(of: .modificationDate) }

    private func seconds(of attribute: Attribute) -> Double {
        if case .date(let seconds) = attributes[attribute] { seconds } else { 0 }
    }
}
