// Backend: the one border between the Swift API and whatever keeps the items.
//   (1) A request is typed; an expected answer (absent, not matched) is a value, not an error.
//   (2) Statuses leave a backend as numbers, unchanged.

package import FoundationEssentials

/// Keeps the items.
///
/// Every method may block, and is safe to call from many threads at once. One that throws has
/// changed nothing, unless the cause is an interruption.
package protocol Backend: Sendable {
    /// - Returns: The secret, empty for an item without one; nil if there is no such item.
    func load(_ item: ItemSelector) throws(BackendFailure) -> Data?

    /// The secret together with the modification date; nil if there is no such item.
    func loadVersion(_ item: ItemSelector) throws(BackendFailure) -> VersionedData?

    /// The attributes; nil if there is no such item. No secret is read.
    func attributes(_ item: ItemSelector) throws(BackendFailure) -> ItemSummary?

    /// The attributes of all items, in no particular order. No secret is read.
    func list(_ namespace: Namespace) throws(BackendFailure) -> [ItemSummary]

    /// - Returns: Whether the item was added; false if there is one already.
    func add(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool

    /// Changes an item in place: it keeps its reference and creation date.
    /// - Returns: Whether there was such an item.
    func update(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool

    /// Adds the item, or changes it in place: in the access group that the addition is to, that one
    /// alone.
    /// - Returns: False where neither could be done, since others deleted and added it meanwhile.
    func put(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool

    /// - Returns: Whether there was such an item.
    func delete(_ item: ItemSelector) throws(BackendFailure) -> Bool

    /// Deletes all items or, if it throws, none.
    /// - Returns: How many.
    func deleteAll(_ namespace: Namespace) throws(BackendFailure) -> Int

    /// Whether there is hardware for keys.
    func hasSecureEnclave() throws(BackendFailure) -> Bool

    /// Makes a key on P-256 in hardware, and stores it. The accessibility says when it can be used,
    /// and the constraints what must be satisfied then.
    func makeSecureEnclaveKey(
        _ key: SecureEnclaveSelector, accessibility: String, constraints: AccessConstraints
    ) throws(BackendFailure) -> any SecureEnclaveHandle

    /// - Returns: nil if there is no such key.
    func findSecureEnclaveKey(
        _ key: SecureEnclaveSelector
    ) throws(BackendFailure) -> (any SecureEnclaveHandle)?

    /// - Returns: Whether there was such a key.
    func deleteSecureEnclaveKey(_ key: SecureEnclaveSelector) throws(BackendFailure) -> Bool

    /// Calls `handler` after later changes, as far as they are told of. It must not block.
    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(BackendFailure) -> any ChangeSubscription
}

/// A key in hardware that was found or made.
package protocol SecureEnclaveHandle: Sendable {
    /// 04 ‖ X ‖ Y.
    var publicKey: Data { get }

    /// Signs a message, hashed with SHA-256, or a digest of any size.
    /// - Returns: The DER of r and s.
    func sign(_ input: Data, isDigest: Bool) throws(BackendFailure) -> Data

    /// Multiplies the key with a public key, which is 04 ‖ X ‖ Y.
    /// - Returns: The x coordinate of the product, 32 bytes.
    func agree(with publicKey: Data) throws(BackendFailure) -> Data
}

/// Why a backend did not do what it was asked.
package struct BackendFailure: Error, Hashable, Sendable {
    package var status: Int32
    /// A sentence for people that holds no attribute's value and no secret, where there is one.
    package var reason: String?
    /// What is known of the cause. nil: no more than the status says.
    package var cause: KeychainFailure.Cause?

    package init(status: Int32, reason: String? = nil, cause: KeychainFailure.Cause? = nil) {
        self.status = status
        self.reason = reason
        self.cause = cause
    }

    package init(_ failure: KeychainFailure) {
        self.init(
            status: failure.status.rawValue, reason: failure.reason, cause: failure.cause)
    }
}
