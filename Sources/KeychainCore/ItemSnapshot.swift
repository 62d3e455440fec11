// ItemSnapshot: an item as a keychain returns it.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// One item of an answer.
package struct ItemSnapshot: Hashable, Sendable {
    package var itemClass: ItemClass
    package var reference: ItemReference
    /// All attributes that are set, including the creation and modification dates. If the request
    /// did not ask for attributes, the answer can lack the attributes, the group, the constraints
    /// and the flags, see ``Retrieval/includesAttributes``.
    package var attributes: Attributes
    package var accessGroup: String
    package var protection: ProtectionClass
    package var constraints: AccessConstraints
    /// Whether ``constraints`` is certain. If the keychain is accessed through the SecItem
    /// functions, an item can have constraints that can't be determined. A message between a
    /// client and a keychain service doesn't contain this value, because the service always knows
    /// the constraints.
    package var constraintsAreKnown = true
    package var isSynchronizable: Bool
    package var isTombstone: Bool
    /// Whether the item has a secret, even if the secret was not decrypted. The SecItem functions
    /// reveal this only with the secret, so through them it is `false` if the secret was not
    /// requested.
    package var hasData: Bool
    /// The secret; `nil` if it was not requested or doesn't exist.
    @Hidden package var data: Data?

    package init(
        itemClass: ItemClass, reference: ItemReference, attributes: Attributes,
        accessGroup: String, protection: ProtectionClass, constraints: AccessConstraints = [],
        isSynchronizable: Bool, isTombstone: Bool, hasData: Bool, data: Data? = nil
    ) {
        self.itemClass = itemClass
        self.reference = reference
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.protection = protection
        self.constraints = constraints
        self.isSynchronizable = isSynchronizable
        self.isTombstone = isTombstone
        self.hasData = hasData
        self.data = data
    }
}
