// CircleCommandTests: what the commands of `keychainctl sync` do and print when machines join a
// circle with pasted codes or the recovery code, are removed, and leave.

#if Synchronization

import EtcdTestSupport
import Foundation
import KeychainCrypto
import TestPrograms
import Testing

extension `With etcd` {
    /// Runs `sync join --paste` on one machine and `sync approve --paste` on another. `altered`
    /// changes each code before it is pasted. The result is the outcome of `sync approve`, and
    /// whether `sync join` succeeded.
    private static func paste(
        _ joiner: CircleMachine, _ member: CircleMachine, _ altered: (String) -> String = { $0 }
    ) throws -> (approval: CircleMachine.Outcome, isJoined: Bool) {
        let input = Pipe()
        let join = try joiner.start(["sync", "join", "--paste", "--no-prompt"], input: input)
        defer { join.kill() }
        let code = try #require(join.line())
        let approval = try member.run(
            ["sync", "approve", "--paste", "--no-prompt", "--name", joiner.name],
            input: altered(code) + "\n")
        // The member's code is on a separate line among messages.
        let lines = approval.complaint.split(separator: "\n")
        let answer = lines.last { $0.count == 30 && !$0.contains(" ") } ?? ""
        try input.fileHandleForWriting.write(contentsOf: Data("\(altered(String(answer)))\n".utf8))
        try input.fileHandleForWriting.close()
        return (approval, join.endedWell)
    }

    @Test func `machines join with codes and the recovery code, are removed, and leave`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            try await CircleMachine.withMachines(["one", "two", "three"], in: cluster, Self.alice) {
                let (one, two, three) = ($0[0], $0[1], $0[2])
                #expect(
                    try one.require(["sync", "status"]).text.hasPrefix("state:  in no circle. "))
                let words = try one.require(["sync", "found", "--name", "one", "--recovery-code"])
                #expect(words.text.split(whereSeparator: \.isWhitespace).count == 12)
                let circle = try #require(try one.status().circle)
                #expect(words.complaint == "Founded the circle \(circle).\n")
                #expect(try one.set("a", "1").isDone)

                // Without a terminal, digits can't be compared, and no machine is added.
                let digits = try two.run(["sync", "join"])
                #expect(digits.status == 1)
                #expect(digits.complaint.contains("Comparing digits requires a terminal."))
                // A code with a wrong first character is refused, and no machine is added.
                let wrong = try Self.paste(two, one) {
                    ($0.first == "A" ? "B" : "A") + $0.dropFirst()
                }
                #expect(wrong.approval.status != 0)
                #expect(!wrong.isJoined)
                #expect(try one.status().machines.map(\.name) == ["one"])
                let pasted = try Self.paste(two, one)
                #expect(pasted.approval.text == "Added two to the circle.\n")
                #expect(pasted.isJoined)
                #expect(try two.values() == ["a": "1"])

                // With the circle's recovery code, a machine joins without another machine. Any
                // other recovery code is refused.
                let other = RecoveryCode.random().words.joined(separator: " ")
                let refused = try three.run(
                    ["sync", "join", "--recovery-code-fd", "0"], input: other)
                #expect(refused.status == 4, "\(refused)")
                #expect(try three.status().circle == nil)
                let unasked = try three.run(["sync", "join", "--recovery-code", "--no-prompt"])
                #expect(unasked.status == 4)
                #expect(unasked.complaint.contains("There is no terminal for a prompt."))
                let typed = words.text.split(separator: "\n").joined(separator: " ")
                let recovered = try three.run(
                    ["sync", "join", "--recovery-code"], typing: typed, at: "Recovery code: ")
                #expect(recovered.isDone)
                // The code isn't shown when it is typed.
                #expect(recovered.text.contains("Recovery code: \n"))
                #expect(
                    recovered.text.hasSuffix("Joined the circle \(circle), of 3 machines.\n"))
                #expect(try three.values() == ["a": "1"])
                #expect(try three.set("b", "2").isDone)
                try three.require(["sync", "status"])
                try Self.expectTexts(of: one)

                // A machine is removed only with --yes or after a confirmation.
                #expect(try one.run(["sync", "remove", "two", "--no-prompt"]).status == 1)
                #expect(try one.run(["sync", "remove", "four", "--yes"]).status == 3)
                #expect(try one.run(["sync", "remove", "one", "--yes"]).status == 1)
                let removed = try one.require(["sync", "remove", "two", "--yes"])
                #expect(removed.text == "Removed two from the circle.\n")
                #expect(try one.set("a", "after the removal").isDone)
                try one.require(["sync", "status"])
                #expect(
                    try two.require(["sync", "status"]).text
                        .hasPrefix("state:  removed from the circle. "))
                #expect(try two.values() == ["a": "1"])

                // A machine that leaves first sends its waiting changes. The machine keeps its
                // items.
                #expect(try three.set("c", "3").isDone)
                let left = try three.require(["sync", "leave"])
                #expect(left.text == "This machine has left the circle. The items stay.\n")
                #expect(try three.status().circle == nil)
                let all = ["a": "after the removal", "b": "2", "c": "3"]
                #expect(try one.status().machines.map(\.name) == ["one"])
                #expect(try one.values() == all)
                #expect(try three.values() == all)
                // The machine that left can join again.
                let again = try three.require(
                    ["sync", "join", "--recovery-code-fd", "0"], input: words.text)
                #expect(again.text == "Joined the circle \(circle), of 2 machines.\n")
                #expect(try three.values() == all)
                #expect(try one.status().notices == [])
            }
        }
    }

    /// Expects what `sync status` and `sync members` print on the first of three machines.
    private static func expectTexts(of machine: CircleMachine) throws {
        try machine.addDeviceItem("here", "stays")
        func text(_ command: String) throws -> String {
            try machine.require(["sync", command]).text
                .replacing(#/[0-9a-f]{64}/#, with: "CIRCLE")
                .replacing(#/[0-9a-f]{32}/#, with: "ID")
                .replacing(#/(less than a|[0-9]+) minutes? ago/#, with: "AGE")
                .replacing(#/  +/#, with: "  ")
        }
        let members = """
            NAME  ID  GROUPS  SEEN  WITHHELD
            -  ID  all  AGE
            one  ID  all  this machine
            two  ID  all  AGE

            """
        // The machines are ordered by their random identifiers.
        func sorted(_ text: String) -> [String] {
            text.split(separator: "\n").map(String.init).sorted()
        }
        #expect(sorted(try text("members")) == sorted(members))
        #expect(
            sorted(try text("status"))
                == sorted(
                    """
                    state:  up to date with the other machines, as far as the server shows
                    circle:  CIRCLE
                    recovery code:  yes
                    waiting:  nothing

                    \(members)
                    1 item stays here: the protection class is for this device only.
                    """))
    }
}

#endif
