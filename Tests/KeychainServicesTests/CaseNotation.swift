// CaseNotation: the notation of the behavior cases in Swift, and a trait that checks how many cases
// a test ran.
//   (1) The trait counts the calls of the test's body, not the arguments in the test's declaration.
//
// A row is what one caller, as a member of the groups G1 and G2, does to an empty, unlocked
// keychain with a passcode. The keys of dictionaries are named as in Documentation/Cases.md: by the
// short names in `shortNames`, or by the values of Apple's constants.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import KeychainCore
import KeychainEngine
import KeychainRuntime
import KeychainServices
import Synchronization
import Testing

typealias Entries = [String: Any]

/// One case, which is a row of a table in Documentation/Cases.md.
struct Row: Sendable, CustomTestStringConvertible {
    let number: Int
    let title: String
    let body: @Sendable (Client) throws -> Void

    init(_ number: Int, _ title: String, _ body: @escaping @Sendable (Client) throws -> Void) {
        self.number = number
        self.title = title
        self.body = body
    }

    var testDescription: String { "\(number): \(title)" }

    /// Runs the case on a new keychain.
    func run(on backend: Backend) throws {
        try body(Client(try backend.open(), groups: ["G1", "G2"]))
    }
}

// MARK: - Dictionaries

let shortNames: [String: String] = [
    "svc": "svce", "data": "v_Data", "ref": "v_Ref", "pref": "v_PersistentRef",
    "R.data": "r_Data", "R.attrs": "r_Attributes", "R.ref": "r_Ref",
    "R.pref": "r_PersistentRef", "limit": "m_Limit", "authUI": "u_AuthUI",
    "useTomb": "u_Tomb", "host": "m_HostOrSubdomainOfHost",
    "policy": "m_Policy", "issuers": "m_Issuers", "validOn": "m_ValidOnDate",
    "trusted": "m_TrustedOnly", "email": "m_EmailAddressIfPresent",
]
let all = "m_LimitAll"
let one = "m_LimitOne"
let any = "syna"

/// A generic password with an account and a service.
func GP(_ account: Any, _ service: Any, _ more: Entries = [:]) -> Entries {
    ["class": "genp", "acct": account, "svc": service].merging(more) { $1 }
}

/// A query for any generic passwords.
func genp(_ more: Entries = [:]) -> Entries {
    ["class": "genp"].merging(more) { $1 }
}

/// A query for any internet passwords.
func inet(_ more: Entries = [:]) -> Entries {
    ["class": "inet"].merging(more) { $1 }
}

/// A query for any certificates.
func cert(_ more: Entries = [:]) -> Entries {
    ["class": "cert"].merging(more) { $1 }
}

/// A query for any keys.
func keys(_ more: Entries = [:]) -> Entries {
    ["class": "keys"].merging(more) { $1 }
}

/// A query for any identities.
func idnt(_ more: Entries = [:]) -> Entries {
    ["class": "idnt"].merging(more) { $1 }
}

func bytes(_ text: String) -> Data { Data(text.utf8) }

// MARK: - Calls

/// A caller of the four `SecItem` functions.
final class Client {
    let keychain: any KeychainUnderTest
    private let groups: AccessGroups

    init(_ keychain: any KeychainUnderTest, groups: [String]) {
        self.keychain = keychain
        self.groups = AccessGroups(groups)
    }

    /// Another caller of the same keychain.
    func member(of groups: String...) -> Client {
        Client(keychain, groups: groups)
    }

    @discardableResult
    func add(_ entries: Entries) -> Answer {
        var result: CFTypeRef? = untouched
        // SAFETY: the variable outlives the call.
        return answer(withKeychain { unsafe SecItemAdd(dictionary(entries), &result) }, result)
    }

    func copy(_ entries: Entries) -> Answer {
        var result: CFTypeRef? = untouched
        // SAFETY: the variable outlives the call.
        let status = withKeychain { unsafe SecItemCopyMatching(dictionary(entries), &result) }
        return answer(status, result)
    }

    func update(_ entries: Entries, _ changes: Entries) -> Answer {
        answer(withKeychain { SecItemUpdate(dictionary(entries), dictionary(changes)) }, untouched)
    }

    func delete(_ entries: Entries) -> Answer {
        answer(withKeychain { SecItemDelete(dictionary(entries)) }, untouched)
    }

    /// An add without a pointer for the result.
    func addWithoutResult(_ entries: Entries) -> Answer {
        answer(withKeychain { SecItemAdd(dictionary(entries), nil) }, untouched)
    }

    /// A search without a pointer for the result.
    func copyWithoutResult(_ entries: Entries) -> Answer {
        answer(withKeychain { SecItemCopyMatching(dictionary(entries), nil) }, untouched)
    }

    func withKeychain<Result>(_ body: () throws -> Result) rethrows -> Result {
        let connection = ProcessConnection(handler: keychain.handler, caller: groups)
        return try KeychainContext.$connection.withValue(connection) { try body() }
    }

    private let untouched = NSString(string: "untouched")

    private func answer(_ status: OSStatus, _ result: CFTypeRef?) -> Answer {
        Answer(status: status, result: result, isUntouched: result === untouched)
    }
}

func long(_ entries: Entries) -> Entries {
    Entries(uniqueKeysWithValues: entries.map { (shortNames[$0] ?? $0, $1) })
}

func dictionary(_ entries: Entries) -> CFDictionary {
    long(entries) as NSDictionary
}

/// The status and the result of a call.
struct Answer {
    let status: OSStatus
    let result: CFTypeRef?
    /// Whether the result pointer still has the value it had before the call.
    let isUntouched: Bool

    /// Expects a status and, for a failure, that the call didn't change the result.
    @discardableResult
    func gives(
        _ expected: OSStatus, _ source: SourceLocation = #_sourceLocation
    ) -> Answer {
        #expect(status == expected, sourceLocation: source)
        if expected != 0 { #expect(isUntouched, sourceLocation: source) }
        return self
    }

    func givesNil(_ source: SourceLocation = #_sourceLocation) {
        gives(0, source)
        #expect(result == nil, sourceLocation: source)
    }

    @discardableResult
    func givesData(
        _ expected: Data? = nil, _ source: SourceLocation = #_sourceLocation
    ) throws -> Data {
        gives(0, source)
        let data = try #require(result as? Data, sourceLocation: source)
        if let expected { #expect(data == expected, sourceLocation: source) }
        return data
    }

    func givesDictionary(
        _ source: SourceLocation = #_sourceLocation
    ) throws -> Entries {
        gives(0, source)
        return try #require(result as? Entries, sourceLocation: source)
    }

    /// Expects an array with `count` elements.
    @discardableResult
    func givesArray(
        _ count: Int, _ source: SourceLocation = #_sourceLocation
    ) throws -> [Any] {
        gives(0, source)
        let array = try #require(result as? [Any], sourceLocation: source)
        #expect(array.count == count, sourceLocation: source)
        return array
    }
}

// MARK: - Counting

/// Fails a test whose body wasn't called as often as the trait says.
struct CaseCount: TestTrait, TestScoping {
    /// Counts the calls of one test's body.
    final class Counter: Sendable {
        private let calls = Atomic(0)

        var count: Int { calls.load(ordering: .relaxed) }

        func add() { calls.wrappingAdd(1, ordering: .relaxed) }
    }

    @TaskLocal private static var counter: Counter?

    let expected: Int

    func scopeProvider(for test: Test, testCase: Test.Case?) -> CaseCount? { self }

    /// Without a test case, wraps the whole test. With a test case, wraps one call of the test's
    /// body.
    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase == nil else {
            Self.counter?.add()
            return try await function()
        }
        let counter = Counter()
        try await Self.$counter.withValue(counter) { try await function() }
        #expect(counter.count == expected, "number of cases that \(test.name) ran")
    }
}

extension Trait where Self == CaseCount {
    /// Expects that the test runs with `count` sets of arguments.
    static func cases(_ count: Int) -> Self { CaseCount(expected: count) }
}
