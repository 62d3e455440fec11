// CircleModelTests: tests `CircleModel`, which determines the values that items may have after
// synchronization.

#if Synchronization

import Testing

@Suite struct `The model of allowed synchronization results` {
    /// What happens to one account.
    enum Step {
        /// A machine changes the account, whose value on that machine was `had`. A value of `nil`
        /// stands for no item.
        case change(Int, String?, had: String?)
        /// A machine changes the account, which no other machine changes.
        case alone(String?)
        /// A machine tries to change the account, and gets no acknowledgement.
        case unanswered(String?)
    }

    /// Each row has the steps, and the outcomes that are allowed after them.
    private static let rows: [(steps: [Step], allowed: Set<String?>)] = [
        ([], [nil]),
        ([.change(0, "1", had: nil)], ["1"]),
        ([.change(0, "1", had: nil), .change(1, "2", had: "1")], ["2"]),
        ([.change(0, "1", had: nil), .change(1, "2", had: nil)], ["1", "2"]),
        ([.change(0, "1", had: nil), .change(1, nil, had: "1")], [nil]),
        // A write of a machine that has seen a deletion is later than the deletion.
        (
            [
                .change(0, "1", had: nil), .change(1, "2", had: "1"), .change(0, nil, had: "2"),
                .change(1, "3", had: nil),
            ], ["3"]
        ),
        // A deletion that the writer hasn't seen can win. That the writer has no item doesn't show
        // that it has seen the deletion: perhaps it never had the item, or deleted the item itself.
        (
            [
                .change(0, "1", had: nil), .change(1, nil, had: "1"), .change(2, "2", had: nil),
            ], [nil, "2"]
        ),
        (
            [
                .change(0, "1", had: nil), .change(1, nil, had: "1"), .change(0, nil, had: "1"),
                .change(0, "2", had: nil),
            ], [nil, "2"]
        ),
        (
            [
                .change(0, "1", had: nil), .change(1, nil, had: "1"), .change(0, nil, had: "1"),
                .change(0, "2", had: nil), .change(1, "3", had: "2"),
            ], ["3"]
        ),
        // Machine 1 has received one of the two deletions, and it isn't known which.
        (
            [
                .change(0, "1", had: nil), .change(1, "2", had: "1"), .change(2, nil, had: "1"),
                .change(0, nil, had: "1"), .change(1, "3", had: nil),
            ], [nil, "3"]
        ),
        // A write is later than the version that its machine had, and than all versions before
        // that version.
        (
            [
                .change(0, "1", had: nil), .change(0, "2", had: "1"), .change(1, "3", had: "2"),
            ], ["3"]
        ),
        // A machine's own write that another machine's write superseded can't return.
        (
            [
                .change(0, "1", had: nil), .change(1, "2", had: nil), .change(0, "3", had: "2"),
            ], ["3"]
        ),
        ([.change(0, "1", had: nil), .unanswered("2")], ["1", "2"]),
        ([.change(0, "1", had: nil), .unanswered(nil)], [nil, "1"]),
        (
            [.change(0, "1", had: nil), .unanswered("2"), .change(1, "3", had: "2")], ["1", "3"]
        ),
        ([.alone("1"), .unanswered("2")], ["1", "2"]),
        ([.alone("1"), .unanswered(nil), .alone("2")], ["2"]),
        ([.alone("1"), .alone(nil)], [nil]),
    ]

    @Test func `the model allows exactly the values that the synchronization rules allow`() {
        var count = 0
        for (steps, allowed) in Self.rows {
            var model = CircleModel()
            for step in steps {
                switch step {
                case .change(let machine, let value, let had):
                    model.note("a", value, by: machine, insteadOf: .some(had))
                case .alone(let value): model.note("a", value, by: 0, insteadOf: .none)
                case .unanswered(let value): model.noteUnanswered("a", value)
                }
            }
            for outcome: String? in [nil, "1", "2", "3"] {
                let values = outcome.map { ["a": $0] } ?? [:]
                #expect(
                    model.violations(in: values).isEmpty == allowed.contains(outcome),
                    "\(outcome ?? "nothing") after \(steps)")
            }
            count += 1
        }
        #expect(count == 18)
    }

    @Test func `the model reports an account that no machine wrote as a violation`() {
        var model = CircleModel()
        model.note("a", "1", by: 0, insteadOf: .none)
        #expect(model.violations(in: ["a": "1", "b": "1"]) == ["b"])
    }
}

#endif
