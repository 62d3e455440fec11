// WireItem: items in messages, those to add and those that were found.

import KeychainModel

extension WireNewItem {
    init(_ item: NewItem) {
        self.init()
        itemClass = item.itemClass.rawValue
        attributes = [WireAttribute](item.attributes)
        if let group = item.accessGroup { accessGroup = group }
        protection = item.protection.wire
        constraints = item.constraints.rawValue
        isSynchronizable = item.isSynchronizable
        isTombstone = item.isTombstone
        if let data = item.data { self.data = data }
        if item.authorization != Authorization() {
            authorization = WireAuthorization(item.authorization)
        }
        keepsExisting = item.keepsExisting
    }

    func item() throws(KeychainFailure) -> NewItem {
        var item = NewItem(
            itemClass: try ItemClass(wire: itemClass),
            attributes: try attributes.requestedAttributes(),
            accessGroup: hasAccessGroup ? accessGroup : nil,
            protection: try ProtectionClass(wire: protection),
            constraints: try AccessConstraints(requested: constraints),
            isSynchronizable: isSynchronizable, isTombstone: isTombstone,
            data: hasData ? data : nil, authorization: try authorization.authorization())
        item.keepsExisting = keepsExisting
        return item
    }
}

extension WireItem {
    init(_ item: Item) {
        self.init()
        itemClass = item.itemClass.rawValue
        reference = item.reference.value.wire
        attributes = [WireAttribute](item.attributes)
        accessGroup = item.accessGroup
        protection = item.protection.wire
        constraints = item.constraints.rawValue
        isSynchronizable = item.isSynchronizable
        isTombstone = item.isTombstone
        hasData_p = item.hasData
        if let data = item.data { self.data = data }
    }

    func item() throws(KeychainFailure) -> Item {
        Item(
            itemClass: try ItemClass(wire: itemClass),
            reference: ItemReference(try Bytes16(wire: reference)),
            attributes: try attributes.attributes(), accessGroup: accessGroup,
            protection: try ProtectionClass(wire: protection),
            constraints: AccessConstraints(rawValue: constraints),
            isSynchronizable: isSynchronizable, isTombstone: isTombstone, hasData: hasData_p,
            data: hasData ? data : nil)
    }
}

extension WireIdentity {
    init(_ identity: Identity) {
        self.init()
        certificate = WireItem(identity.certificate)
        key = WireItem(identity.key)
    }

    func identity() throws(KeychainFailure) -> Identity {
        Identity(certificate: try certificate.item(), key: try key.item())
    }
}
