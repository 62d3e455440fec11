// RequestDictionary+Calls: what each call allows, and the typed request it becomes.

#if !canImport(Darwin)

internal import KeychainModel

extension RequestDictionary {
    /// The item that an add describes.
    func newItem() throws(KeychainFailure) -> NewItem {
        // Apple's source means to refuse these two and by mistake reports success.
        if hasMatchKey { throw .param("An item can't be added with a match key.") }
        if hasItemList { throw .param("An item can't be added with an item list.") }
        if reference != nil { throw .param("An item can't be added by persistent reference.") }
        try checkAuthentication(for: .add)
        if contradictsSynchronizable {
            throw .param("A synchronizable item has no constraints and no sharing group.")
        }
        let protection = protection ?? .whenUnlocked
        if synchronizable == .only(true) { try Self.checkSynchronizable(protection) }
        let itemClass = try builtClass()
        try checkConstraintsAreBuilt()

        var attributes = attributes
        // The keychain's own clock sets both.
        attributes[.creationDate] = nil
        attributes[.modificationDate] = nil
        return NewItem(
            itemClass: itemClass, attributes: attributes, accessGroup: accessGroup,
            protection: protection,
            // "Any" names no value here. It is dropped, because existing code shares one
            // dictionary between searching and adding.
            isSynchronizable: synchronizable == .only(true),
            isTombstone: isTombstone ?? false, data: data)
    }

    /// The items that a search, an update or a delete is about.
    func itemQuery(for call: ItemCall) throws(KeychainFailure) -> ItemQuery {
        try checkAuthentication(for: call)
        switch call {
        case .add, .copyMatching:
            if hasItemList { throw .param("A search takes no item list.") }
            if case .item = reference, namesAttribute {
                throw .param("A search by persistent reference takes no attribute.")
            }
        case .update:
            if hasItemList { throw .param("An update takes no item list.") }
            if hasMatchKey { throw .param("An update takes no match key.") }
            if !returns.isEmpty { throw .param("An update returns nothing.") }
        case .delete:
            // All is what a delete does anyhow, and code for macOS has to say it. One is not.
            if hasMatchKeyBesideLimit || (limit ?? .all) != .all {
                throw .param("A delete takes no match key other than the limit “all”.")
            }
        }
        if synchronizable == .only(true), attributes[.sharingGroup] != nil {
            throw .param("A synchronizable item has no sharing group.")
        }
        let itemClass = try builtClass()
        if matchesCertificates {
            throw .notBuilt("policies and issuers in a search for passwords")
        }
        if hostOrSubdomain != nil, itemClass != .internetPassword {
            throw .notBuilt("a search by host for another class than internet passwords")
        }
        return ItemQuery(
            itemClass: itemClass, attributes: attributes, accessGroup: accessGroup,
            protection: protection, isSynchronizable: synchronizableFilter,
            isTombstone: isTombstone ?? false, reference: itemReference,
            hostOrSubdomain: hostOrSubdomain)
    }

    /// What an update of the items of `query` sets, for a dictionary read as changes.
    func changes(to query: ItemQuery) throws(KeychainFailure) -> ItemChanges {
        if attributes[.sharingGroup] != nil { throw .param("The sharing group can't change.") }
        if contradictsSynchronizable {
            throw .param("A synchronizable item has no constraints.")
        }
        let isSynchronizable: Bool? =
            if case .only(let flag) = synchronizable { flag } else { nil }
        if let protection, isSynchronizable ?? query.isSynchronizable ?? false {
            try Self.checkSynchronizable(protection)
        }
        try checkConstraintsAreBuilt()
        var attributes = attributes
        attributes[.modificationDate] = nil
        return ItemChanges(
            attributes: attributes, accessGroup: accessGroup, protection: protection,
            isSynchronizable: isSynchronizable, isTombstone: isTombstone, data: data)
    }

    /// How many items a search gives and how much of each.
    var retrieval: Retrieval {
        let count: Int? =
            switch limit ?? .one {
            case .count(let count): count
            case .all: nil
            }
        return Retrieval(limit: count, includesData: returns.contains(.data))
    }

    /// Whether a search answers with an array: whenever more than one item could come.
    var givesArray: Bool { (limit ?? .one) != .one }

    /// Whether no item of this keychain can be meant.
    var matchesNothing: Bool {
        if case .rowNumber = reference { return true }
        // Items have no user; what is given back as the user is empty.
        return owner.map { !$0.isEmpty } ?? false
    }

    // MARK: - Parts

    private var itemReference: ItemReference? {
        if case .item(_, let reference) = reference { reference } else { nil }
    }

    /// A search is for local items unless it says otherwise or names one item.
    private var synchronizableFilter: Bool? {
        switch synchronizable {
        case .only(let flag): flag
        case .any: nil
        case nil: reference == nil ? false : nil
        }
    }

    private func checkAuthentication(for call: ItemCall) throws(KeychainFailure) {
        if skipsAuthentication, call != .copyMatching {
            throw .param("Only a search can skip items that need authentication.")
        }
        if hasAuthenticationContext, hasCredentialReference {
            throw .param("An authentication context and a credential reference exclude each other.")
        }
    }

    private static func checkSynchronizable(
        _ protection: ProtectionClass
    ) throws(KeychainFailure) {
        if protection.isThisDeviceOnly {
            throw .param("A synchronizable item can't be kept to this device.")
        }
    }

    // MARK: - What is not built

    private func builtClass() throws(KeychainFailure) -> ItemClass {
        if hasValueRef { throw .notBuilt("kSecValueRef") }
        switch itemClass {
        case .known(let itemClass): return itemClass
        case .toCome(let itemClass): throw .notBuilt("items of class \(itemClass.rawValue)")
        case nil: throw .notBuilt("references to items on tokens")
        }
    }

    private func checkConstraintsAreBuilt() throws(KeychainFailure) {
        if accessControl?.hasConstraints == true { throw .notBuilt("access constraints") }
    }
}

#endif
