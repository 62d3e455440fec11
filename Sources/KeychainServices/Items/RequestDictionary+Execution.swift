// RequestDictionary+Execution: the four SecItem calls, for items of a class and for identities.
//   (1) Errors in a dictionary are reported before the keychain is opened.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainEngine
internal import KeychainAuthentication
internal import KeychainCore

extension RequestDictionary {
    /// - Returns: The added item or identity. With an item list, one result for each object in the
    ///   list.
    func add() throws(KeychainFailure) -> [FoundItem] {
        // This check comes first, to reject a persistent reference even if it doesn't identify a
        // class.
        try checkAdd()
        if hasItemList { return try addList() }
        switch try subject(for: .add) {
        case .stored(let itemClass):
            let item = try newItem(of: itemClass)
            let keychain = try keychain()
            let complete = makesKey(of: itemClass) ? try makeKey(item, in: keychain) : item
            return [
                .item(try keychain.perform(AddItem(complete)), in: keychain)
            ]
        case .identity:
            return try addIdentity()
        }
    }

    /// Either half may exist already, but not both. For example, a renewed certificate has the same
    /// key.
    private func addIdentity() throws(KeychainFailure) -> [FoundItem] {
        var halves = try newIdentity()
        let keychain = try keychain()
        do {
            return try Self.addAll([halves], in: keychain)
        } catch {
            guard error.status == .duplicateItem else { throw error }
            for index in halves.indices {
                halves[index].keepsExisting = halves[index].itemClass == .key
            }
            return try Self.addAll([halves], in: keychain)
        }
    }

    private func addList() throws(KeychainFailure) -> [FoundItem] {
        let list = try newItemsOfList()
        return try Self.addAll(list, in: keychain())
    }

    /// Adds the items of several objects in one transaction.
    private static func addAll(
        _ objects: [[NewItem]], in keychain: AuthenticatingConnection
    ) throws(KeychainFailure) -> [FoundItem] {
        var added = try keychain.perform(AddItems(Array(objects.joined())))[...]
        var found: [FoundItem] = []
        for object in objects {
            let own = added.prefix(object.count)
            added = added.dropFirst(object.count)
            guard let first = own.first, let last = own.last else { continue }
            found.append(
                own.count == 1
                    ? .item(first, in: keychain)
                    : .identity(Identity(certificate: first, key: last), in: keychain))
        }
        return found
    }

    func find() throws(KeychainFailure) -> [FoundItem] {
        var retrieval = retrieval
        retrieval.skipsConstrained = authentication.skips
        let filters = filtersCertificates
        // The limit applies to the filtered items, so the search before the filter has no limit. A
        // limit of 0 is kept, because nothing is found with it, with or without a filter.
        if filters { retrieval.limit = retrieval.limit == 0 ? 0 : nil }
        switch try subject(for: .copyMatching) {
        case .stored(let itemClass):
            var query = try itemQuery(of: itemClass, for: .copyMatching)
            let keychain = try keychain()
            try keychain.resolve(self, in: &query)
            let found = try keychain.perform(FindItems(query, retrieval))
                .map { FoundItem.item($0, in: keychain) }
            return filters ? try keychain.filtered(found, self) : found
        case .identity:
            var query = try identityQuery(for: .copyMatching)
            let keychain = try keychain()
            try keychain.resolve(self, in: &query.certificate)
            let found = try keychain.perform(FindIdentities(query, retrieval))
                .map { FoundItem.identity($0, in: keychain) }
            return filters ? try keychain.filtered(found, self) : found
        }
    }

    func update(_ attributes: CFDictionary) throws(KeychainFailure) {
        guard let kind else {
            try checkQuery(for: .update)
            _ = try RequestDictionary(changes: attributes, of: nil).itemChanges()
            throw Self.tokenReference
        }
        switch kind {
        case .stored(let itemClass):
            var query = try itemQuery(of: itemClass, for: .update)
            let changes = try RequestDictionary(changes: attributes, of: kind).itemChanges()
            try checkReference()
            let keychain = try keychain()
            try keychain.resolve(self, in: &query)
            try keychain.perform(UpdateItems(query, changes))
        case .identity:
            var query = try identityQuery(for: .update)
            let changes = try RequestDictionary(changes: attributes, of: kind).identityChanges()
            try checkReference()
            let keychain = try keychain()
            try keychain.resolve(self, in: &query.certificate)
            try keychain.perform(UpdateIdentities(query, changes))
        }
    }

    func delete() throws(KeychainFailure) {
        switch try subject(for: .delete) {
        case .stored(let itemClass):
            var query = try itemQuery(of: itemClass, for: .delete)
            let keychain = try keychain()
            try keychain.resolve(self, in: &query)
            try keychain.perform(DeleteItems(query, tombstones: tombstones))
        case .identity:
            var query = try identityQuery(for: .delete)
            let keychain = try keychain()
            try keychain.resolve(self, in: &query.certificate)
            try keychain.perform(DeleteIdentities(query, tombstones: tombstones))
        }
    }

    /// The kind of item that a request other than an update is about.
    ///
    /// - Throws: `param` if the class is missing. If the request identifies its item only by a
    ///   reference to an object on a token: the failure of the call's checks or, if they pass,
    ///   `unimplemented`.
    private func subject(for call: ItemCall) throws(KeychainFailure) -> ItemKind {
        guard let kind else {
            if hasItemList { throw .param("The class is missing.") }
            try checkQuery(for: call)
            throw Self.tokenReference
        }
        return kind
    }
}

extension [RequestDictionary] {
    /// Adds the key or certificate of each request in one transaction. Items that already exist are
    /// not changed.
    func addMissing() throws(KeychainFailure) {
        var items: [NewItem] = []
        for request in self { items += try request.newItemsOfValue() }
        for index in items.indices { items[index].keepsExisting = true }
        guard let keychain = try first?.keychain() else { return }
        _ = try keychain.perform(AddItems(items))
    }
}

extension AuthenticatingConnection {
    /// Applies the conditions that an ``ItemQuery`` can't express.
    ///
    /// A digest covers the whole primary key, so it matches at most one item. The query is
    /// restricted to that item's reference; its other conditions still apply.
    ///
    /// - Throws: `itemNotFound` if nothing can match.
    fileprivate func resolve(
        _ request: RequestDictionary, in query: inout ItemQuery
    ) throws(KeychainFailure) {
        if request.matchesNothing {
            // Perform an empty search nevertheless, because an access error takes precedence.
            _ = try handler.perform(FindItems(query, Retrieval(limit: 0)), as: caller)
            throw .itemNotFound
        }
        guard let digest = request.digest else { return }
        let candidates = try handler.perform(FindItems(query, Retrieval(limit: nil)), as: caller)
        guard let match = candidates.first(where: { ItemDigest.sha1(of: $0) == digest }) else {
            throw .itemNotFound
        }
        query.reference = match.reference
    }

    /// The items that satisfy the request's filter, up to its limit.
    fileprivate func filtered(
        _ found: [FoundItem], _ request: RequestDictionary
    ) throws(KeychainFailure) -> [FoundItem] {
        let limit = request.retrieval.limit ?? .max
        var accepted: [FoundItem] = []
        for item in found where accepted.count < limit {
            guard let certificate = item.certificate,
                request.certificateFilter.accepts(certificate, issuersOf: issuers(of:))
            else { continue }
            accepted.append(item)
        }
        guard !accepted.isEmpty else { throw .itemNotFound }
        return accepted
    }

    /// The caller's certificates in the keychain whose subject is the issuer of a certificate. If
    /// they can't be searched, for example because one is locked, the result is empty, which makes
    /// the chain for the filter shorter.
    private func issuers(of certificate: SecCertificate) -> [SecCertificate] {
        guard let issuer = certificate.itemAttributes[.issuer] else { return [] }
        let query = ItemQuery(
            itemClass: .certificate, attributes: [.subject: issuer], isSynchronizable: nil)
        let found = try? handler.perform(
            FindItems(query, Retrieval(limit: nil, includesData: true)), as: caller)
        return (found ?? []).compactMap { $0.data.flatMap { SecCertificate(der: $0) } }
    }
}

#endif
