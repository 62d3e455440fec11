// ItemAccess: one operation on one item. What a backend reports becomes a KeychainError here.

import Foundation
import KeychainCore

/// An operation on an item: what it is, on which item, and where that is kept.
struct ItemAccess: Sendable {
    let operation: KeychainError.Operation
    let item: ItemSelector
    let backend: any Backend

    func load() throws(KeychainError) -> Data? {
        do { return try backend.load(item) } catch { throw failed(error) }
    }

    func loadVersion() throws(KeychainError) -> VersionedData? {
        do { return try backend.loadVersion(item) } catch { throw failed(error) }
    }

    func attributes() throws(KeychainError) -> Keychain.Item? {
        do {
            return try backend.attributes(item).map { Keychain.Item($0) }
        } catch {
            throw failed(error)
        }
    }

    func add(_ contents: ItemContents) throws(KeychainError) -> Bool {
        defer { ChangeCount.note() }
        do { return try backend.add(item, contents) } catch { throw failed(error) }
    }

    func update(_ contents: ItemContents) throws(KeychainError) -> Bool {
        defer { ChangeCount.note() }
        do { return try backend.update(item, contents) } catch { throw failed(error) }
    }

    func delete() throws(KeychainError) -> Bool {
        defer { ChangeCount.note() }
        do { return try backend.delete(item) } catch { throw failed(error) }
    }

    /// Adds the item, or changes it in place.
    func put(_ contents: ItemContents) throws(KeychainError) {
        defer { ChangeCount.note() }
        // Someone else may delete the item after the addition was refused, and add it again
        // before the next one. No one does so for long.
        for _ in 0..<Self.attemptLimit where try attempt(contents) { return }
        throw unsettled
    }

    private func attempt(_ contents: ItemContents) throws(KeychainError) -> Bool {
        do { return try backend.put(item, contents) } catch { throw failed(error) }
    }

    /// Puts new contents in the place of the version that was found.
    ///
    /// - Parameters:
    ///   - present: What was found. nil: there was none.
    ///   - contents: What to store. nil: nothing.
    /// - Returns: Whether that version was still the present one.
    /// - Throws: What the backend reports.
    func replace(
        _ present: VersionedData?, _ contents: ItemContents?
    ) throws(KeychainError) -> Bool {
        switch (present, contents) {
        case (nil, nil): return true
        case (nil, let new?): return try add(new)
        case (let old?, nil): return try version(old).delete()
        case (let old?, let new?):
            if old.data == new.data { return true }
            return try version(old).update(new)
        }
    }

    /// Changes the version that was found, also if its secret stays the same.
    ///
    /// - Returns: Whether that version was still the present one.
    func change(
        _ present: VersionedData, _ contents: ItemContents
    ) throws(KeychainError) -> Bool {
        try version(present).update(contents)
    }

    private func version(_ found: VersionedData) -> ItemAccess {
        var selector = item
        selector.version = found.version
        return ItemAccess(operation: operation, item: selector, backend: backend)
    }

    // MARK: Values

    func decode<Value>(_ data: Data, _ key: KeychainKey<Value>) throws(KeychainError) -> Value {
        do {
            return try key.decode(data)
        } catch {
            throw KeychainError.decoding(error, data, item, operation)
        }
    }

    func encode<Value>(
        _ value: Value, _ key: KeychainKey<Value>, in keychain: Keychain
    ) throws(KeychainError) -> ItemContents {
        let accessibility = key.accessibility ?? keychain.accessibility
        // Apple documents the two as incompatible and does not everywhere refuse them.
        if keychain.isSynchronizable && accessibility.isThisDeviceOnly {
            throw failed(
                BackendFailure(
                    status: KeychainError.Code.param.rawValue,
                    reason: "A synchronizable item can't be kept to this device."))
        }
        do {
            return ItemContents(
                data: try key.encode(value), label: key.label,
                accessibility: accessibility.rawValue)
        } catch {
            throw KeychainError.encoding(error, item, operation)
        }
    }

    // MARK: Errors

    /// How often an addition or change is tried that others undo meanwhile.
    static var attemptLimit: Int { 100 }

    /// An addition was refused since the item is there, and a change since it isn't.
    var unsettled: KeychainError {
        failed(
            BackendFailure(
                status: KeychainError.Code.duplicateItem.rawValue,
                reason: "The item can be neither added nor changed."))
    }

    func failed(_ failure: BackendFailure) -> KeychainError {
        KeychainError(failure, operation, item.namespace.service, item.account)
    }
}
