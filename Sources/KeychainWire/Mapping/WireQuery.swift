// WireQuery: in messages, what a request is about and how much of it is to be given.

import KeychainModel

extension WireItemQuery {
    init(_ query: ItemQuery) {
        self.init()
        itemClass = query.itemClass.rawValue
        attributes = [WireAttribute](query.attributes)
        if let group = query.accessGroup { accessGroup = group }
        if let protection = query.protection { self.protection = protection.wire }
        if let isSynchronizable = query.isSynchronizable {
            self.isSynchronizable = isSynchronizable
        }
        isTombstone = query.isTombstone
        if let reference = query.reference { self.reference = reference.value.wire }
        if let host = query.hostOrSubdomain { hostOrSubdomain = host }
        if query.authorization != Authorization() {
            authorization = WireAuthorization(query.authorization)
        }
    }

    func query() throws(KeychainFailure) -> ItemQuery {
        ItemQuery(
            itemClass: try ItemClass(wire: itemClass),
            attributes: try attributes.requestedAttributes(),
            accessGroup: hasAccessGroup ? accessGroup : nil,
            protection: hasProtection ? try ProtectionClass(wire: protection) : nil,
            isSynchronizable: hasIsSynchronizable ? isSynchronizable : nil,
            isTombstone: isTombstone,
            reference: hasReference ? ItemReference(try Bytes16(wire: reference)) : nil,
            hostOrSubdomain: hasHostOrSubdomain ? hostOrSubdomain : nil,
            authorization: try authorization.authorization())
    }
}

extension WireIdentityQuery {
    init(_ query: IdentityQuery) {
        self.init()
        certificate = WireItemQuery(query.certificate)
        key = WireItemQuery(query.key)
    }

    func query() throws(KeychainFailure) -> IdentityQuery {
        IdentityQuery(certificate: try certificate.query(), key: try key.query())
    }
}

extension WireRetrieval {
    init(_ retrieval: Retrieval) {
        self.init()
        if let limit = retrieval.limit { self.limit = Int64(limit) }
        includesData = retrieval.includesData
        skipsConstrained = retrieval.skipsConstrained
    }

    /// - Throws: `param` where the message isn't there: everything would be asked for.
    func retrieval(isThere: Bool) throws(KeychainFailure) -> Retrieval {
        guard isThere else { throw .param("A search doesn't say how much is to be given.") }
        guard !hasLimit || limit >= 0 else { throw .param("The limit of a search is negative.") }
        return Retrieval(
            limit: hasLimit ? Int(limit) : nil, includesData: includesData,
            skipsConstrained: skipsConstrained)
    }
}

extension WireItemChanges {
    init(_ changes: ItemChanges) {
        self.init()
        attributes = [WireAttribute](changes.attributes)
        if let group = changes.accessGroup { accessGroup = group }
        if let protection = changes.protection { self.protection = protection.wire }
        if let constraints = changes.constraints { self.constraints = constraints.rawValue }
        if let isSynchronizable = changes.isSynchronizable {
            self.isSynchronizable = isSynchronizable
        }
        if let isTombstone = changes.isTombstone { self.isTombstone = isTombstone }
        if let data = changes.data { self.data = data }
    }

    /// - Throws: `param` where the message isn't there.
    func changes(isThere: Bool) throws(KeychainFailure) -> ItemChanges {
        guard isThere else { throw .param("An update doesn't say what it changes.") }
        return ItemChanges(
            attributes: try attributes.requestedAttributes(),
            accessGroup: hasAccessGroup ? accessGroup : nil,
            protection: hasProtection ? try ProtectionClass(wire: protection) : nil,
            constraints: hasConstraints ? try AccessConstraints(requested: constraints) : nil,
            isSynchronizable: hasIsSynchronizable ? isSynchronizable : nil,
            isTombstone: hasIsTombstone ? isTombstone : nil, data: hasData ? data : nil)
    }
}
