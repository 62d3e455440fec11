// RequestDictionary+Calls: the checks of each call, and the conversion to a typed request.

#if !canImport(Darwin)

internal import KeychainCore

extension RequestDictionary {
    // MARK: - Add

    /// The item that an addition describes. Its class is `itemClass`.
    func newItem(of itemClass: ItemClass) throws(KeychainFailure) -> NewItem {
        try checkAdd()
        var item = try newItem(of: itemClass, attributes: attributes)
        if makesKey(of: itemClass) {
            // As on Apple platforms, a hardware key can be used if it has no access control, but
            // not with an access control that lacks `privateKeyUsage`.
            if accessControl == nil { item.constraints = .privateKeyUsage }
            try Self.checkIsOfHardware(item)
        }
        return item
    }

    /// The certificate and the key of the identity that an addition describes.
    func newIdentity() throws(KeychainFailure) -> [NewItem] {
        // Identities are not stored, so attributes or data can't describe one.
        guard case .identity = valueReference else {
            throw .param(
                "An identity must be added with kSecValueRef, or as a certificate and a key.")
        }
        return try newItemsOfValue()
    }

    /// The items that an addition describes by the object in `kSecValueRef`.
    func newItemsOfValue() throws(KeychainFailure) -> [NewItem] {
        try checkAdd()
        return try newItems()
    }

    /// The items that an addition with an item list describes, for each object in the list.
    ///
    /// Apple's data-protection keychain reports success without adding anything. The file-based
    /// keychain of macOS adds the objects, as documented. This function follows the documentation.
    func newItemsOfList() throws(KeychainFailure) -> [[NewItem]] {
        try checkAdd()
        guard let itemList, !itemList.isEmpty else {
            throw .param(
                "The item list is empty, or not an array of keys, certificates and identities.")
        }
        guard valueReference == nil, data == nil else {
            throw .param("An item list and a value can't be combined in one addition.")
        }
        var items: [[NewItem]] = []
        for object in itemList {
            guard kind == nil || kind == object.kind else {
                throw .param("An object of the item list is not of the class in kSecClass.")
            }
            var own = self
            own.valueReference = object
            items.append(try own.newItems())
        }
        return items
    }

    /// One item for a key or certificate, and two for an identity. The certificate of an identity
    /// may already exist.
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

    /// Checks the conditions that apply to every addition.
    func checkAdd() throws(KeychainFailure) {
        // Apple's source intends to reject a match key here, but by mistake reports success.
        if hasMatchKey { throw .param("An item can't be added with a match key.") }
        if reference != nil { throw .param("An item can't be added by persistent reference.") }
        try authentication.check(for: .add)
        if contradictsSynchronizable {
            throw .param("A synchronizable item can't have constraints or a sharing group.")
        }
    }

    private func newItem(
        of itemClass: ItemClass, attributes given: Attributes
    ) throws(KeychainFailure) -> NewItem {
        // A certificate is not secret.
        let protection = protection ?? (itemClass == .certificate ? .always : .whenUnlocked)
        var attributes = given
        // The keychain sets both dates from its own clock.
        attributes[.creationDate] = nil
        attributes[.modificationDate] = nil
        if let valueReference {
            attributes.merge(valueReference.attributes(of: itemClass)) { given, _ in given }
        }
        var item = NewItem(
            itemClass: itemClass, attributes: attributes, accessGroup: accessGroup,
            protection: protection, constraints: constraints ?? [],
            // `kSecAttrSynchronizableAny` is only for searches. It is ignored here, because
            // existing code uses one dictionary for both searching and adding.
            isSynchronizable: synchronizable == .only(true),
            isTombstone: isTombstone ?? false,
            data: data ?? valueReference?.data(of: itemClass))
        if itemClass == .key, let key = valueReference?.key?.secureEnclaveKey {
            // Without values in the dictionary, use those with which the key was generated. The
            // keychain rejects any other protection class or access control. The fixed attributes
            // of hardware keys replace those from the dictionary.
            item.protection = self.protection ?? key.blob.protection
            item.constraints = constraints ?? key.blob.constraints
            item.attributes.merge(key.attributes) { _, fixed in fixed }
        }
        return item
    }

    // MARK: - Query

    /// The items that a search, update or deletion selects. Their class is `itemClass`.
    func itemQuery(
        of itemClass: ItemClass, for call: ItemCall
    ) throws(KeychainFailure) -> ItemQuery {
        try checkQuery(for: call)
        if matchesOnlyCertificates, itemClass != .certificate {
            throw .notImplemented(
                "a search by policy or issuer for items other than certificates and identities")
        }
        if hostOrSubdomain != nil, itemClass != .internetPassword {
            throw .notImplemented("a search by host for items other than internet passwords")
        }
        return ItemQuery(
            itemClass: itemClass, attributes: identifyingAttributes, accessGroup: accessGroup,
            protection: protection, isSynchronizable: synchronizableFilter,
            isTombstone: isTombstone ?? false, reference: reference?.itemReference,
            hostOrSubdomain: hostOrSubdomain)
    }

    /// The identities that a search, update or deletion selects.
    ///
    /// An attribute that both certificates and keys have is compared with the certificate's.
    func identityQuery(for call: ItemCall) throws(KeychainFailure) -> IdentityQuery {
        try checkQuery(for: call)
        if hostOrSubdomain != nil {
            throw .notImplemented("a search by host for items other than internet passwords")
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

    /// Checks that a search, update or deletion contains only what is allowed. For an update, the
    /// caller of this function must then check the changes and, after them, the reference.
    func checkQuery(for call: ItemCall) throws(KeychainFailure) {
        try authentication.check(for: call)
        switch call {
        case .add, .copyMatching:
            if hasItemList { throw .param("A search can't have an item list.") }
            if reference?.itemReference != nil, namesAttribute {
                throw .param("A search by persistent reference can't have attributes.")
            }
        case .update:
            if hasItemList { throw .param("An update can't have an item list.") }
            if hasMatchKey { throw .param("An update can't have a match key.") }
            if !returns.isEmpty { throw .param("An update can't return results.") }
            if case .identity = reference {
                // As on Apple platforms: by persistent reference, the certificate or the key of an
                // identity can be updated, but not the identity.
                throw KeychainFailure(
                    .internalError, "Identities can't be updated by persistent reference.")
            }
        case .delete:
            // A deletion always affects all matching items. Code for macOS must set the limit “all”
            // to request that, so this limit is accepted.
            if hasMatchKeyBesideLimit || (limit ?? .all) != .all {
                throw .param("A deletion can't have a match key other than the limit “all”.")
            }
        }
        if synchronizable == .only(true), attributes[.sharingGroup] != nil {
            throw .param("A synchronizable item can't have a sharing group.")
        }
        if call != .update { try checkReference() }
    }

    /// Refuses a reference to an object on a token. Without the reference, the query would match
    /// other items of the class.
    func checkReference() throws(KeychainFailure) {
        if reference == .token { throw Self.tokenReference }
    }

    /// The attributes in the dictionary and those of the object in `kSecValueRef`. The dictionary
    /// takes precedence.
    private var identifyingAttributes: Attributes {
        guard let valueReference else { return attributes }
        return attributes.merging(valueReference.identifyingAttributes) { given, _ in given }
    }

    // MARK: - Update

    /// The changes that an update makes to items of one class. The dictionary must have been read
    /// with ``init(changes:of:)``.
    func itemChanges() throws(KeychainFailure) -> ItemChanges {
        if attributes[.sharingGroup] != nil { throw .param("The sharing group can't change.") }
        if contradictsSynchronizable {
            throw .param("A synchronizable item can't have constraints.")
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

    /// The changes that an update makes to both halves of identities.
    func identityChanges() throws(KeychainFailure) -> IdentityChanges {
        guard data == nil else {
            throw .param(
                "The data of an identity can't be updated, because it consists of two items. "
                    + "Update one of them.")
        }
        let both = try itemChanges()
        var changes = IdentityChanges(certificate: both, key: both)
        changes.certificate.attributes = both.attributes.ofClass(.certificate)
        changes.key.attributes = both.attributes.ofClass(.key)
        return changes
    }

    // MARK: - Results

    /// How many items a search returns, and which parts of each.
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

    /// Whether data must be read: because it was requested, because an object is created from it,
    /// or because a certificate filter examines it.
    private var needsData: Bool {
        guard let kind else { return returns.contains(.data) }
        return returns.contains(.data) || (returns.contains(.ref) && kind.hasObject)
            || filtersCertificates
    }

    /// Whether a filter examines certificates.
    var filtersCertificates: Bool {
        (kind?.hasCertificate ?? false) && !certificateFilter.acceptsEverything
    }

    /// Whether the result is an array: with an item list, if any result is requested; without an
    /// item list, if the limit differs from 1.
    var givesArray: Bool { hasItemList ? !returns.isEmpty : (limit ?? .one) != .one }

    /// Whether the result is always `nil`.
    ///
    /// Apple's functions handle an identity in `kSecValueRef` as its certificate and its key, one
    /// after the other. They return a result only if nothing but the persistent reference is
    /// requested, and not as an array.
    var givesNothing: Bool {
        guard case .identity = valueReference else { return false }
        return returns != .persistentRef || givesArray
    }

    /// Whether no item of this keychain can match.
    var matchesNothing: Bool {
        if case .rowNumber = reference { return true }
        // No item of this keychain belongs to another user.
        return namesOtherUser
    }

    // MARK: - Parts

    static let tokenReference = KeychainFailure.notImplemented("references to items on tokens")

    /// Only local items are selected, unless the dictionary specifies otherwise or contains a
    /// persistent reference.
    private var synchronizableFilter: Bool? {
        switch synchronizable {
        case .only(let flag): flag
        case .any: nil
        case nil: reference == nil ? false : nil
        }
    }

    /// The constraints of the access control, if there is one.
    private var constraints: AccessConstraints? {
        accessControl.map { AccessConstraints(rawValue: UInt64($0.flags.rawValue)) }
    }
}

extension Attributes {
    /// The attributes that the class has.
    fileprivate func ofClass(_ itemClass: ItemClass) -> Attributes {
        filter { itemClass.has($0.key) }
    }
}

#endif
