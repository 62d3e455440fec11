// CaseCount: how many cases of a test with arguments were run.
//   (1) What is counted are calls of the test's body, not the arguments that it was declared with.

import Synchronization
import Testing

/// Fails a test whose body was not called as often as the trait says.
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

    /// Without a case this is around the test as a whole, with one around a call of its body.
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
        #expect(counter.count == expected, "cases that were run of \(test.name)")
    }
}

extension Trait where Self == CaseCount {
    /// Expects that the test is run with so many arguments.
    static func cases(_ count: Int) -> Self { CaseCount(expected: count) }
}
