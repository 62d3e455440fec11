// Patterns: runs incorrect and correct code side by side and shows the result of each. In each
// function, the code before a call of `wrong` is incorrect, and the code before a call of `right`
// is correct.

import Dispatch
import Foundation
import SecItemFundamentals
import Security
import Synchronization

extension Session {
    func patterns() async throws {
        title("Wrong and right")
        try ignoredDuplicate()
        try deletedBeforeAdd()
        try missingReturnKey()
        try await blockedMainActor()
        try literalKeys()
        try sharedDictionary()
        try unspecificQuery()
        try nonKeyAttribute()
        try removeEverything()
    }

    private func pattern(_ text: String) throws {
        try removeEverything()
        print("  \(text)")
    }

    private func wrong(_ outcome: String, _ holds: Bool) { check("  wrong: \(outcome)", holds) }

    private func right(_ outcome: String, _ holds: Bool) { check("  right: \(outcome)", holds) }

    private func ignoredDuplicate() throws {
        try pattern("An add whose status is ignored")
        _ = SecItem.add(password("alice", "first"))
        _ = SecItem.add(password("alice", "second"))
        wrong("the old value stays, and nothing reports this", secret("alice") == "first")

        var status = SecItem.add(password("alice", "second"))
        let answer = status
        if status == errSecDuplicateItem {
            let changes = KeychainQueryBuilder.buildChanges(
                to: Data("second".utf8), accessibility: kSecAttrAccessibleAfterFirstUnlock)
            status = SecItem.update(query("alice"), changes)
        }
        right(
            "\(answer), then an update: the new value is there",
            status == errSecSuccess && secret("alice") == "second")
    }

    private func deletedBeforeAdd() throws {
        try pattern("A deletion before each add")
        try put("alice")
        let before = reference("alice")
        try remove(query("alice"))
        let isMissing = find(query("alice")).status == errSecItemNotFound
        try put("alice")
        wrong(
            "a reader finds nothing in between, and the persistent reference changes",
            isMissing && before != nil && reference("alice") != before)

        let kept = reference("alice")
        let changes = KeychainQueryBuilder.buildChanges(
            to: Data("new".utf8), accessibility: kSecAttrAccessibleAfterFirstUnlock)
        let status = SecItem.update(query("alice"), changes)
        right(
            "an update keeps the item and its persistent reference",
            status == errSecSuccess && kept != nil && reference("alice") == kept)
    }

    private func missingReturnKey() throws {
        try pattern("A read without a return key")
        try put("alice")
        let (status, result) = find(query("alice"))
        wrong("\(status), and no result", status == errSecSuccess && result == nil)

        let answer = find(
            KeychainQueryBuilder.buildQuery(
                account: "alice", service: Self.service, returnData: true))
        right(
            "\(answer.status) with kSecReturnData, and \((answer.result as? Data)?.count ?? 0) bytes",
            answer.status == errSecSuccess && answer.result as? Data == Data("secret".utf8))
    }

    /// The incorrect example only simulates a SecItem call on the main actor, because a real call
    /// there terminates the program. It blocks the main actor for a fifth of a second, as if a call
    /// took that long.
    private func blockedMainActor() async throws {
        try pattern("A SecItem call on the main actor")
        let tap = Tap()
        let isHandled = await MainActor.run { tap.isHandledDuringCall(.milliseconds(200)) }
        wrong("no tap is handled during the call", !isHandled)

        let next = Tap()
        let manager = KeychainManager(service: Self.service)
        let observer = SecItem.observer
        let secret = try await SecItem.$observer.withValue({ call in
            observer?(call)
            next.waitDuringCall()
        }) {
            try await manager.load(for: "alice")
        }
        right(
            "on the manager's own queue, a tap is handled during the call",
            secret == nil && next.wasHandledInTime)
    }

    private func literalKeys() throws {
        try pattern("Literals for keys")
        try put("alice", "bob")
        // kSecAttrAccount is "acct", kSecMatchLimit is "m_Limit".
        let literals = (account: "acnt", other: "account", limit: "m_limit")
        for literal in [literals.account, literals.other] {
            var search = query()
            search[literal] = "bob"
            let status = find(search).status
            let expected = literal.count == 4 ? errSecNoSuchAttr : errSecParam
            wrong("“\(literal)” for the account: \(status)", status == expected)
        }
        var search = KeychainQueryBuilder.buildQuery(service: Self.service)
        search[kSecReturnData as String] = true
        search[literals.limit] = kSecMatchLimitAll
        wrong(
            "“\(literals.limit)” for the limit: success, and one of two items",
            find(search).result is Data)

        search = KeychainQueryBuilder.buildQuery(
            service: Self.service, returnData: true, matchLimit: kSecMatchLimitAll)
        right(
            "constants, which the compiler checks: both items",
            (find(search).result as? [Data])?.count == 2)
    }

    private func sharedDictionary() throws {
        try pattern("One dictionary for several calls")
        try put("alice")
        let shared = KeychainQueryBuilder.buildQuery(
            account: "alice", service: Self.service, returnData: true)
        _ = find(shared)
        let status = SecItem.update(shared, [kSecValueData as String: Data("new".utf8)])
        wrong(
            "the search's keys stay in the dictionary: the update returns \(status)",
            status == errSecParam)

        let answer = SecItem.update(
            query("alice"), [kSecValueData as String: Data("new".utf8)])
        right(
            "a new dictionary for each call: \(answer)",
            answer == errSecSuccess && secret("alice") == "new")
    }

    private func unspecificQuery() throws {
        try pattern("A query that is not specific")
        try put("alice", "bob")
        var status = SecItem.delete(query())
        wrong(
            "a deletion without the account deletes every item of the service",
            status == errSecSuccess && secret("bob") == nil)

        try put("alice", "bob")
        status = SecItem.delete(query("alice"))
        right(
            "a deletion with the account deletes one item",
            status == errSecSuccess && secret("alice") == nil && secret("bob") != nil)
    }

    private func nonKeyAttribute() throws {
        try pattern("A search by more than the primary key")
        try put("alice")
        var search = query("alice")
        search[kSecAttrGeneric as String] = Data("1".utf8)
        var addition = password("alice")
        addition[kSecAttrGeneric as String] = Data("1".utf8)
        let found = find(search).status
        let added = SecItem.add(addition)
        wrong(
            "the search returns \(found), and the add \(added)",
            found == errSecItemNotFound && added == errSecDuplicateItem)

        let answer = find(query("alice")).status
        right("the search returns \(answer)", answer == errSecSuccess)
    }
}

/// A simulated tap by the user, which the main actor handles.
private final class Tap: Sendable {
    private let handled = DispatchSemaphore(value: 0)
    private let inTime = Mutex(false)

    var wasHandledInTime: Bool { inTime.withLock { $0 } }

    /// Simulates a tap while a call on the current thread lasts for some time.
    ///
    /// - Returns: `true` if the main actor handled the tap before the call ended.
    func isHandledDuringCall(_ duration: DispatchTimeInterval) -> Bool {
        Task { @MainActor in handled.signal() }
        return handled.wait(timeout: .now() + duration) == .success
    }

    /// Simulates a tap during a call, and records whether the main actor handled the tap. The call
    /// lasts until the tap is handled, but at most a minute.
    func waitDuringCall() {
        let isHandled = isHandledDuringCall(.seconds(60))
        inTime.withLock { $0 = isHandled }
    }
}
