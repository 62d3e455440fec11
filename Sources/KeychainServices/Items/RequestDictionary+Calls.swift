// RequestDictionary+Calls: what each call allows, and the typed request it becomes.

#if !canImport(Darwin)

internal import KeychainCore

extension RequestDictionary {
    // MARK: - Adding

    /// The item of a class that an add describes.
    func newItem(of itemClass: ItemClass) throws(KeychainFailure) -> NewItem {
        try checkAdd()
        var item = try newItem(of: itemClass, attributes: attributes)
        if makesKey(of: itemClass) {
            // An access control that says nothing of the use of a key allows none, as at Apple.
            if accessControl == nil { item.constraints = .privateKeyUsage }
            try Self.checkIsOfHardware(item)
        }
        return item
    }

    /// The certificate and the key of the identity that an add describes.
    func newIdentity() throws(KeychainFailure) -> [NewItem] {
        // An identity is not stored, so there is nothing that could stand for one.
        guard case .identity = valueReference else {
            throw .param("An identity is added by reference, or as a certificate and a key.")
        }
        return try newItemsOfValue()
    }

    /// The items that an add of the object in `kSecValueRef` describes.
    func newItemsOfValue() throws(KeychainFailure) -> [NewItem] {
        try checkAdd()
        return try newItems()
    }

    /// The items that an add with an item list describes, for each object of the list.
    ///
    /// Apple's data-protection keychain reports success and adds nothing. The file-based one of
    /// macOS adds the objects, as its documentation says.
    func newItemsOfList() throws(KeychainFailure) -> [[NewItem]] {
        try checkAdd()
        guard let itemList, !itemList.isEmpty else {
            throw .param("The item list is no array of keys, certificates and identities.")
        }
        guard valueReference == nil, data == nil else {
            throw .param("An add takes an item list or a value, not both.")
        }
        var items: [[NewItem]] = []
        for object in itemList {
            guard kind == nil || kind == object.kind else {
                throw .param("An object of the item list is of another class.")
            }
            var own = self
            own.valueReference = object
            items.append(try own.newItems())
        }
        return items
    }

    /// One item for a key or certificate, and two for an identity. A certificate of an identity may
    /// be there already.
    private func newItems() throws(KeychainFailure) -> [NewItem] {
        switch valueReference {
        case .key: return [try newItem(of: .key, attributes: attributes.ofClass(.key))]
        case .certificate:
            return [
                try newItem(of: .certificate, attributes: attributes.ofClass(.certificate))
            ]
        case .identity:
            var certificate = try newItem(
                of: .certificate, attributes: attributes.ofClass(.certificate))
            certificate.keepsExisting = true
            return [certificate, try newItem(of: .key, attributes: attributes.ofClass(.key))]
        case nil: return []
        }
    }

    /// What no add may say, whatever it is of.
    func checkAdd() throws(KeychainFailure) {
        // Apple's source means to refuse it and by mistake reports success.
        if hasMatchKey { throw .param("An item can't be added with a match key.") }
        if reference != nil { throw .param("An item can't be added by persistent reference.") }
        try authentication.check(for: .add)
        if contradictsSynchronizable {
            throw .param("A synchronizable item has no constraints and no sharing group.")
        }
    }

    private func newItem(
        of itemClass: ItemClass, attributes given: Attributes
    ) throws(KeychainFailure) -> NewItem {
        // A certificate is no secret.
        let protection = protection ?? (itemClass == .certificate ? .always : .whenUnlocked)
        var attributes = given
        // The keychain's own clock sets both.
        attributes[.creationDate] = nil
        attributes[.modificationDate] = nil
        if let valueReference {
            attributes.merge(valueReference.attributes(of: itemClass)) { given, _ in given }
        }
        var item = NewItem(
            itemClass: itemClass, attributes: attributes, accessGroup: accessGroup,
            protection: protection, constraints: constraints ?? [],
            // "Any" names no value here. It is dropped, because existing code shares one
            // dictionary between searching and adding.
            isSynchronizable: synchronizable == .only(true),
            isTombstone: isTombstone ?? false,
            data: data ?? valueReference?.data(of: itemClass))
        if itemClass == .key, let key = valueReference?.key?.secureEnclaveKey {
            // What the key was made with, unless something else is said, which the keychain refuses.
            item.protection = self.protection ?? key.blob.protection
            item.constraints = constraints ?? key.blob.constraints
            item.attributes.merge(key.attributes) { _, fixed in fixed }
        }
        return item
    }

    // MARK: - Naming

    /// The items of a class that a search, an update or a delete is about.
    func itemQuery(
        of itemClass: ItemClass, for call: ItemCall
    ) throws(KeychainFailure) -> ItemQuery {
        try checkQuery(for: call)
        if matchesOnlyCertificates, itemClass != .certificate {
            throw .notBuilt("a search by policy or issuer for what is no certificate or identity")
        }
        if hostOrSubdomain != nil, itemClass != .internetPassword {
            throw .notBuilt("a search by host for another class than internet passwords")
        }
        return ItemQuery(
            itemClass: itemClass, attributes: identifyingAttributes, accessGroup: accessGroup,
            protection: protection, isSynchronizable: synchronizableFilter,
            isTombstone: isTombstone ?? false, reference: reference?.itemReference,
            hostOrSubdomain: hostOrSubdomain)
    }

    /// The identities that a search, an update or a delete is about.
    ///
    /// An attribute that certificates and keys have is asked of the certificate.
    func identityQuery(for call: ItemCall) throws(KeychainFailure) -> IdentityQuery {
        try checkQuery(for: call)
        if hostOrSubdomain != nil {
            throw .notBuilt("a search by host for another class than internet passwords")
        }
        let attributes = identifyingAttributes
        let certificate = ItemQuery(
            itemClass: .certificate, attributes: attributes.ofClass(.certificate),
            accessGroup: accessGroup, protection: protection,
            isSynchronizable: synchronizableFilter, isTombstone: isTombstone ?? false,
            reference: reference?.itemReference)
        let key = ItemQuery(
            itemClass: .key,
            attributes: attributes.filter { !ItemClass.certificate.has($0.key) },
            isSynchronizable: synchronizableFilter)
        return IdentityQuery(certificate: certificate, key: key)
    }

    private func checkQuery(for call: ItemCall) throws(KeychainFailure) {
        try authentication.check(for: call)
        switch call {
        case .add, .copyMatching:
            if hasItemList { throw .param("A search takes no item list.") }
            if reference?.itemReference != nil, namesAttribute {
                throw .param("A search by persistent reference takes no attribute.")
            }
        case .update:
            if hasItemList { throw .param("An update takes no item list.") }
            if hasMatchKey { throw .param("An update takes no match key.") }
            if !returns.isEmpty { throw .param("An update returns nothing.") }
            if case .identity = reference {
                // As at Apple, where only the parts of an identity are updated by reference.
                throw KeychainFailure(
                    .internalError, "Identities are not updated by persistent reference.")
            }
        case .delete:
            // All is what a delete does anyhow, and code for macOS has to say it. One is not.
            if hasMatchKeyBesideLimit || (limit ?? .all) != .all {
                throw .param("A delete takes no match key other than the limit “all”.")
            }
        }
        if synchronizable == .only(true), attributes[.sharingGroup] != nil {
            throw .param("A synchronizable item has no sharing group.")
        }
    }

    /// What is said by attributes and what an object says; what was said wins.
    private var identifyingAttributes: Attributes {
        guard let valueReference else { return attributes }
        return attributes.merging(valueReference.identifyingAttributes) { given, _ in given }
    }

    // MARK: - Changing

    /// What an update of items of one class sets, for a dictionary read as changes.
    func itemChanges() throws(KeychainFailure) -> ItemChanges {
        if attributes[.sharingGroup] != nil { throw .param("The sharing group can't change.") }
        if contradictsSynchronizable {
            throw .param("A synchronizable item has no constraints.")
        }
        let isSynchronizable: Bool? =
            if case .only(let flag) = synchronizable { flag } else { nil }
        var attributes = attributes
        attributes[.modificationDate] = nil
        return ItemChanges(
            attributes: attributes, accessGroup: accessGroup, protection: protection,
            constraints: constraints, isSynchronizable: isSynchronizable,
            isTombstone: isTombstone, data: data)
    }

    /// What an update sets in both halves of identities.
    func identityChanges() throws(KeychainFailure) -> IdentityChanges {
        guard data == nil else {
            throw .param("The data of an identity are those of two items. Update one of them.")
        }
        let both = try itemChanges()
        var changes = IdentityChanges(certificate: both, key: both)
        changes.certificate.attributes = both.attributes.ofClass(.certificate)
        changes.key.attributes = both.attributes.ofClass(.key)
        return changes
    }

    // MARK: - Answers

    /// How many items a search gives and how much of each.
    var retrieval: Retrieval {
        let count: Int? =
            switch limit ?? .one {
            case .count(let count): count
            case .all: nil
            }
        let passwords = [ItemKind.stored(.genericPassword), .stored(.internetPassword)]
        let isOfDataAlone = returns == .data && kind.map(passwords.contains) == true
        return Retrieval(
            limit: count, includesData: needsData, includesAttributes: !isOfDataAlone)
    }

    /// Whether data have to be read: they are asked for, or an object is made of them, or a
    /// certificate is looked into.
    private var needsData: Bool {
        guard let kind else { return returns.contains(.data) }
        return returns.contains(.data) || (returns.contains(.ref) && kind.hasObject)
            || filtersCertificates
    }

    /// Whether certificates are looked into.
    var filtersCertificates: Bool {
        (kind?.hasCertificate ?? false) && !certificateFilter.acceptsEverything
    }

    /// Whether a call answers with an array: whenever more than one item could come.
    var givesArray: Bool { hasItemList ? !returns.isEmpty : (limit ?? .one) != .one }

    /// Whether a call answers with nothing, whatever its items are.
    ///
    /// Apple's functions take an identity as its certificate and its key, one after the other, and of
    /// the answers make nothing but the persistent reference.
    var givesNothing: Bool {
        guard case .identity = valueReference else { return false }
        return returns != .persistentRef || givesArray
    }

    /// Whether no item of this keychain can be meant.
    var matchesNothing: Bool {
        if case .rowNumber = reference { return true }
        // Items have no user.
        return namesOtherUser
    }

    // MARK: - Parts

    /// A search is for local items unless it says otherwise or names one item.
    private var synchronizableFilter: Bool? {
        switch synchronizable {
        case .only(let flag): flag
        case .any: nil
        case nil: reference == nil ? false : nil
        }
    }

    /// The conditions of the access control, where there is one.
    private var constraints: AccessConstraints? {
        accessControl.map { AccessConstraints(rawValue: UInt64($0.flags.rawValue)) }
    }
}

extension Attributes {
    /// The attributes that items of a class have.
    fileprivate func ofClass(_ itemClass: ItemClass) -> Attributes {
        filter { itemClass.has($0.key) }
    }
}

#endif
