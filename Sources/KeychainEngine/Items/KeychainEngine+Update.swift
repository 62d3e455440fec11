// KeychainEngine+Update: changes all items that match, or none.
//   (1) An item whose secret is under constraints is changed only for a request that could open
//       that secret, whatever the change. This doesn't apply to the row of a hardware key.
//   (2) If the query identifies no particular items, a program without entitlements changes only
//       items that it added itself, see `AccessGroups.isConfined`.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    package func execute(
        _ request: UpdateItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try logged(request) { () throws(KeychainFailure) in
            let query = request.query
            let changes = request.changes
            try authorizeWrite(caller, group: query.accessGroup)
            if let group = changes.accessGroup { try authorizeWrite(caller, group: group) }
            return try write { transaction throws(KeychainFailure) in
                try keepVersions(isRequested: request.keepsVersions, in: &transaction)
                return try change(query, changes, caller, in: &transaction)
            }
        }
    }

    /// Changes all items that match. Throws `itemNotFound` if there are none.
    func change(
        _ query: ItemQuery, _ changes: ItemChanges, _ caller: AccessGroups,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Int {
        let search = transaction.search(query, visibleTo: caller)
        let proof = proof(query.authorization)
        let isConfined = caller.isConfined(by: query)
        var damaged = DamagedRows()
        var rows: [OpenedRow] = []
        // All rows are opened first, so that a lock is reported before authentication is requested.
        for candidate in try transaction.rows(
            search, includesSecret: needsSecret(changes, proof, of: query.itemClass))
        {
            guard let opened = try open(candidate, for: search, noting: &damaged),
                opened.record.matches(query, search, opened.protection, caller: caller),
                !isConfined || caller.hasAdded(opened.record)
            else { continue }
            rows.append(opened)
        }
        guard !rows.isEmpty else {
            if query.protection?.tier != .open { try transaction.requireGuardedTier() }
            if let failure = damaged.failure { throw failure }
            try store.requireSound()
            throw .itemNotFound
        }
        for opened in rows { try apply(changes, to: opened, proof, in: &transaction) }
        return rows.count
    }

    /// Whether a change needs the old secret. A change of protection class, constraints or primary
    /// key may need it, to seal the secret or its key again. An application password is checked by
    /// opening the old secret.
    func needsSecret(
        _ changes: ItemChanges, _ proof: Proof, of itemClass: ItemClass
    ) -> Bool {
        proof.password != nil
            || changes.data == nil
                && (changes.protection != nil || changes.constraints != nil
                    || changes.areInKey(of: itemClass))
    }

    func apply(
        _ changes: ItemChanges, to opened: OpenedRow, _ proof: Proof,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        let old = opened.row
        var record = opened.record
        for (attribute, value) in changes.attributes where attribute != .modificationDate {
            record.attributes[attribute] = value
        }
        record.attributes[.modificationDate] = .date(nextModification(of: opened.record))
        if let group = changes.accessGroup { record.accessGroup = group }
        if let constraints = changes.constraints {
            record.constraints = constraints
            record.enrollment = try enrollment(for: constraints, proof.enrollment)
        } else if changes.protection != nil {
            record.constraints = []
            record.enrollment = nil
        }
        try checkChange(to: opened, changes, record)
        if let flag = changes.isSynchronizable { record.isSynchronizable = flag }
        if let flag = changes.isTombstone { record.isTombstone = flag }

        let protection = changes.protection ?? opened.protection
        let keys = try keys(for: protection)
        try checkAttributes(record)
        if record.constraints != opened.record.constraints
            || record.isSynchronizable != opened.record.isSynchronizable
        {
            try checkStorable(record)
        }
        let index = try transaction.tiers.keys(of: protection.tier).index
        let labels =
            changes.areInLabels || protection.tier != opened.protection.tier
            ? RowLabels(record, index: index) : old.labels
        let binding = RowBinding(
            keychainID: store.keychainID, reference: old.reference,
            protection: protection.rawValue, labels: labels)
        let isKeyOther = !labels.haveKey(of: old.labels)
        var secret: Data?
        if let data = try newSecret(changes, opened, record, protection, proof) {
            let sealed = try seal(
                data, of: record, for: binding, protection: protection, keys: keys,
                password: proof.password)
            secret = sealed.bytes
            record.secretTag = sealed.tag
        } else if record.secretTag != nil,
            isKeyOther || record.constraints != opened.record.constraints
        {
            secret = try rebound(opened, record.constraints, binding, keys)
        }
        if isKeyOther {
            record.makeLater(
                than: try makeRoom(
                    for: record, labels, in: protection.tier, replacing: old.id, in: &transaction))
        }
        try transaction.replace(
            old, with: SealedRow(id: old.id, binding, record, keys: keys, secret: secret),
            replacesSecret: secret != nil)
        let before =
            protection.tier == opened.protection.tier
            ? old.labels : RowLabels(opened.record, index: index)
        if record.isSynchronizable != opened.record.isSynchronizable || !labels.haveKey(of: before),
            opened.record.isSynchronizable, !opened.record.isTombstone
        {
            try leaveTombstone(for: opened, in: &transaction)
        }
    }

    /// The old secret, whose key is sealed again for another primary key or other constraints.
    private func rebound(
        _ opened: OpenedRow, _ constraints: AccessConstraints, _ binding: RowBinding,
        _ keys: ClassKeys
    ) throws(KeychainFailure) -> Data {
        do {
            return try RowSealing.rebind(
                secretOf: opened.row, record: opened.record, to: constraints, for: binding,
                keys: keys)
        } catch {
            throw .damagedItem(opened.row.reference)
        }
    }

    /// The secret to seal: the new one, if the request contains one; otherwise the old one, if it
    /// has to be sealed under other keys or another password; `nil` if the sealed secret stays
    /// unchanged.
    ///
    /// - Throws: `authenticationNeeded`, `authFailed` or `dataNotAvailable` if the request couldn't
    ///   open the old secret; `decode` if the old secret is damaged.
    private func newSecret(
        _ changes: ItemChanges, _ opened: OpenedRow, _ record: ItemRecord,
        _ protection: ProtectionClass, _ proof: Proof
    ) throws(KeychainFailure) -> Data? {
        guard opened.record.secretTag != nil, !opened.record.isOfSecureEnclave else {
            return changes.data
        }
        if let failure = refusal(of: opened, proof) { throw failure }
        let hadPassword = opened.record.constraints.requiresApplicationPassword
        let isSealedAnew =
            protection != opened.protection
            || record.constraints != opened.record.constraints
                && (hadPassword || record.constraints.requiresApplicationPassword)
        // Only opening the old secret shows whether the password is right.
        guard hadPassword || isSealedAnew && changes.data == nil else { return changes.data }
        switch openSecret(opened, showing: proof) {
        case .opened(let secret): return changes.data ?? (isSealedAnew ? secret : nil)
        case .damaged: throw .damagedItem(opened.row.reference)
        case .refused(let failure), .failed(let failure): throw failure
        }
    }

    /// The current time, or one millisecond after the last change if the clock has not advanced.
    /// Every change therefore changes the date. A date that has reached ``ItemRecord/dateLimit`` is
    /// wrong, and is replaced by the current time.
    func nextModification(of record: ItemRecord) -> Double {
        let now = options.now()
        guard case .date(let last) = record.attributes[.modificationDate],
            last < ItemRecord.dateLimit
        else { return now }
        return now > last ? now : last + 0.001
    }
}

extension ItemChanges {
    /// Whether the changes may affect an item's labels. If not, the labels of the opened row are
    /// kept, which are authentic.
    fileprivate var areInLabels: Bool {
        !attributes.isEmpty || accessGroup != nil || isSynchronizable != nil || isTombstone != nil
    }

    /// Whether the changes may affect an item's primary key.
    fileprivate func areInKey(of itemClass: ItemClass) -> Bool {
        accessGroup != nil || isSynchronizable != nil || isTombstone != nil
            || attributes.keys.contains { itemClass.primaryKey.contains($0) }
    }
}
