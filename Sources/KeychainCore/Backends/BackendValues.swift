// BackendValues: what the Swift API and its backends say to each other about items and keys.
//   (1) An accessibility is the value of its `kSecAttrAccessible…` constant. Whether there is one of
//       that name is the backend's to say.

package import FoundationEssentials

/// The items of a keychain: what all requests of one keychain of the Swift API have in common.
package struct Namespace: Hashable, Sendable {
    package var service: String
    /// nil: the default group for an addition and for ``Backend/put(_:_:)``, all groups of the program
    /// for anything else.
    package var accessGroup: String?
    package var isSynchronizable: Bool

    package init(service: String, accessGroup: String? = nil, isSynchronizable: Bool) {
        self.service = service
        self.accessGroup = accessGroup
        self.isSynchronizable = isSynchronizable
    }
}

/// An item, or one version of it.
package struct ItemSelector: Hashable, Sendable {
    package var namespace: Namespace
    package var account: String
    /// The modification date that the item must have, in seconds since 2001. nil: any.
    package var version: Double?

    package init(namespace: Namespace, account: String, version: Double? = nil) {
        self.namespace = namespace
        self.account = account
        self.version = version
    }
}

/// A secret and the modification date under which it was found.
package struct VersionedData: Hashable, Sendable {
    package var data: Data
    /// Seconds since 2001-01-01 00:00:00 UTC, as stored: not rounded.
    package var version: Double

    package init(data: Data, version: Double) {
        self.data = data
        self.version = version
    }
}

/// What is to be stored.
package struct ItemContents: Hashable, Sendable {
    package var data: Data
    package var label: String?
    package var accessibility: String

    package init(data: Data, label: String? = nil, accessibility: String) {
        self.data = data
        self.label = label
        self.accessibility = accessibility
    }
}

/// What is told of an item without its secret.
package struct ItemSummary: Hashable, Sendable {
    package var account: String
    package var label: String?
    package var creationDate: Date
    package var modificationDate: Date
    package var accessibility: String
    package var isSynchronizable: Bool
    package var accessGroup: String
    package var persistentReference: Data

    package init(
        account: String, label: String?, creationDate: Date, modificationDate: Date,
        accessibility: String, isSynchronizable: Bool, accessGroup: String,
        persistentReference: Data
    ) {
        self.account = account
        self.label = label
        self.creationDate = creationDate
        self.modificationDate = modificationDate
        self.accessibility = accessibility
        self.isSynchronizable = isSynchronizable
        self.accessGroup = accessGroup
        self.persistentReference = persistentReference
    }
}

/// A key of the Secure Enclave by its name.
package struct SecureEnclaveSelector: Hashable, Sendable {
    package var service: String
    package var accessGroup: String?
    package var name: String

    package init(service: String, accessGroup: String?, name: String) {
        self.service = service
        self.accessGroup = accessGroup
        self.name = name
    }

    /// Service and name, which both are without NUL. It is the key's application tag, and its
    /// application label too, which is the first part of a key's primary key: so there is one key of
    /// a name.
    package var tag: Data { Data(service.utf8) + [0] + Data(name.utf8) }
}
