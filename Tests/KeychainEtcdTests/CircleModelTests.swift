// CircleModelTests: which outcomes the model of a circle allows.

#if Synchronization

import Testing

@Suite struct `The model of a circle` {
    /// What happens to one account.
    enum Step {
        /// A machine changes it, having something before.
        case change(Int, String?, had: String?)
        /// The only machine that changes it does so.
        case alone(String?)
        case unanswered(String?)
    }

    /// Each row has the outcomes that are allowed, of those that there are.
    private static let rows: [(steps: [Step], allowed: Set<String?>)] = [
        ([], [nil]),
        ([.change(0, "1", had: nil)], ["1"]),
        ([.change(0, "1", had: nil), .change(1, "2", had: "1")], ["2"]),
        ([.change(0, "1", had: nil), .change(1, "2", had: nil)], ["1", "2"]),
        ([.change(0, "1", had: nil), .change(1, nil, had: "1")], [nil]),
        // A machine that reads a deletion and writes is later than the deletion.
        (
            [
                .change(0, "1", had: nil), .change(1, "2", had: "1"), .change(0, nil, had: "2"),
                .change(1, "3", had: nil),
            ], ["3"]
        ),
        // A deletion that a writer hasn't seen can win, also over a write of a machine that has
        // nothing: it had nothing before, or deleted the item itself.
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
        // One of two deletions, nobody knows which.
        (
            [
                .change(0, "1", had: nil), .change(1, "2", had: "1"), .change(2, nil, had: "1"),
                .change(0, nil, had: "1"), .change(1, "3", had: nil),
            ], [nil, "3"]
        ),
        // What a machine has stays earlier than what it writes later.
        (
            [
                .change(0, "1", had: nil), .change(0, "2", had: "1"), .change(1, "3", had: "2"),
            ], ["3"]
        ),
        // Its own write, which another one has superseded, can't return.
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

    @Test func `it allows what the rules allow, and nothing else`() {
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

    @Test func `an account that nobody wrote is a violation`() {
        var model = CircleModel()
        model.note("a", "1", by: 0, insteadOf: .none)
        #expect(model.violations(in: ["a": "1", "b": "1"]) == ["b"])
    }
}

#endif
