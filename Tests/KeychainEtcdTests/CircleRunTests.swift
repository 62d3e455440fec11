// CircleRunTests: `keychainctl sync run` if a second relay of the same keychain runs, if the
// command is ended in the middle of a request, if the disk is full, and if nodes can't be reached.
// Also several commands of `keychainctl sync` with closed, full or additional descriptors.

#if Synchronization

import EtcdTestSupport
import Foundation
import Glibc
import KeychainEtcd
import TestPrograms
import Testing

extension `With etcd` {
    @Test func `two relays of one keychain don't disturb each other`() async throws {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                let (one, two) = ($0[0], $0[1])
                try two.startRelay()
                try one.startRelay()
                let other = try one.newRelay()
                var all: [String: String] = [:]
                for number in 0..<8 {
                    let (mine, theirs) = ("mine \(number)", "theirs \(number)")
                    #expect(try one.set(mine, "1").isDone)
                    #expect(try two.set(theirs, "2").isDone)
                    (all[mine], all[theirs]) = ("1", "2")
                }
                for machine in [one, two] {
                    try await machine.wait(for: "all items") { try machine.values() == all }
                }
                #expect(other.isRunning, Comment(rawValue: one.relayLog))
                other.kill()
                #expect(try one.set("mine", "after it").isDone)
                all["mine"] = "after it"
                try await two.wait(for: "the last item") { try two.values() == all }
                for machine in [one, two] {
                    try await machine.waitUntilCurrent()
                    let notices = try machine.status().notices
                    #expect(notices == [])
                    #expect(!machine.relayLog.contains("warning"))
                }
            }
        }
    }

    @Test
    func `a relay tries other nodes, ends even if no node answers, and later sends its changes`()
        async throws
    {
        try await EtcdCluster.with(nodes: 3, users: [Self.alice]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                let (one, two) = ($0[0], $0[1])
                try two.startRelay()
                try one.startRelay()
                try await one.waitUntilCurrent()
                // One node refuses connections and one is silent. The third one is enough.
                try await one.links[0].cut()
                one.links[1].silence()
                #expect(try one.set("a", "1").isDone)
                try await two.wait(for: "the first item") { try two.values() == ["a": "1"] }
                // The link to the node that was used last breaks.
                try await one.links[0].restore()
                try await one.links[2].cut()
                #expect(try two.set("b", "2").isDone)
                try await one.wait(for: "the second item") {
                    try one.values() == ["a": "1", "b": "2"]
                }
                one.links[0].silence()
                #expect(try one.set("c", "3").isDone)
                try await one.wait(for: "a warning") { one.relayLog.contains("warning") }
                // The relay ends, although a request is unanswered.
                let relay = try #require(one.relay)
                relay.send(SIGTERM)
                #expect(relay.endedWell)
                #expect(one.relayLog.hasSuffix("notice ended\n"))
                #expect(try two.values() == ["a": "1", "b": "2"])
                for link in one.links { try await link.restore() }
                try one.startRelay()
                let all = ["a": "1", "b": "2", "c": "3"]
                try await two.wait(for: "the last item") { try two.values() == all }
                try await one.waitUntilCurrent()
                #expect(try one.values() == all)
                #expect(try one.status().notices == [])
            }
        }
    }

    /// The watch can't show what etcd has compacted, so the relay has to read everything.
    @Test func `a relay reads everything after a compaction of changes that its watch missed`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                let (one, two) = ($0[0], $0[1])
                try two.startRelay()
                #expect(try one.set("a", "1").isDone)
                try one.require(["sync", "status"])
                try await two.wait(for: "a change by the watch") { try two.values() == ["a": "1"] }
                try await two.links[0].cut()
                #expect(try one.set("b", "2").isDone)
                #expect(try one.set("a", "3").isDone)
                try one.require(["sync", "status"])
                let client = try EtcdClient(
                    await cluster.configuration(prefix: Self.alice.prefix, user: Self.alice))
                // The compaction is at the latest revision, that of a key outside the circle.
                try await cluster.compact(try await client.putIfAbsent("other", [1]).revision)
                await client.shutDown()
                #expect(try two.values() == ["a": "1"])
                try await two.links[0].restore()
                let all = ["a": "3", "b": "2"]
                try await two.wait(for: "the compacted changes") { try two.values() == all }
                // The relay has never failed: only its watch was interrupted.
                #expect(!two.relayLog.contains("warning"), Comment(rawValue: two.relayLog))
                try await two.waitUntilCurrent()
                #expect(try two.status().notices == [])
            }
        }
    }

    @Test func `a machine with a full disk loses no acknowledged change, and gets the rest later`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                let (one, two) = ($0[0], $0[1])
                for machine in $0 { try machine.startRelay() }
                var all = ["first": "1"]
                #expect(try one.set("first", "1").isDone)
                try await two.wait(for: "the first item") { try two.values() == all }
                try two.fillDisk()
                // Machine two adds items until none fits any more. The first ones may still fit,
                // because the write-ahead log of the database has unused space.
                var refusal: CircleMachine.Outcome?
                for number in 0..<500 where refusal == nil {
                    let value = String(repeating: "x", count: 2000)
                    let outcome = try two.set("here \(number)", value)
                    if outcome.isDone { all["here \(number)"] = value } else { refusal = outcome }
                }
                #expect(
                    refusal?.complaint.contains("The disk is full") == true, "\(refusal as Any)")
                for number in 0..<4 {
                    #expect(
                        try one.set("there \(number)", String(repeating: "y", count: 4000)).isDone)
                    all["there \(number)"] = String(repeating: "y", count: 4000)
                }
                try await two.wait(for: "a warning of the relay") {
                    two.relayLog.contains("warning not synchronized reason=\"The disk is full")
                }
                #expect(try two.values()["there 3"] == nil)
                #expect(try two.values()["first"] == "1")
                try two.clearDisk()
                for machine in [two, one] {
                    try await machine.wait(for: "all items") { try machine.values() == all }
                    try await machine.waitUntilCurrent()
                    #expect(try machine.status().notices == [])
                }
            }
        }
    }

    // MARK: Descriptors

    /// Redirections of a command's descriptors, each with the expected exit status.
    private static let redirections: [(String, Int32)] = [
        ("<&-", 0), ("2>&-", 0), ("<&- 2>&-", 0), (">/dev/full", 1), (">&-", 1),
        ("<&- >&- 2>&-", 1), ("3<&0 4>&1 9</dev/null", 0),
    ]

    @Test func `sync commands fail if output is closed or full, and accept other closed streams`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                let (one, two) = ($0[0], $0[1])
                var all: [String: String] = [:]
                for command in ["status", "status --json", "members"] {
                    for (number, (redirection, status)) in Self.redirections.enumerated() {
                        #expect(try one.set("planted \(number)", command).isDone)
                        all["planted \(number)"] = command
                        let outcome = try one.run(
                            shell: "\"$keychainctl\" sync \(command) \(redirection)")
                        #expect(outcome.status == status, "\(command) \(redirection): \(outcome)")
                        #expect(
                            outcome.output.isEmpty == (status != 0), "\(command) \(redirection)")
                    }
                }
                // A command fails if it can't write a token, or if the reader of its output has
                // ended.
                #expect(try one.run(shell: "\"$keychainctl\" sync token >&-").status == 1)
                let gone = try one.run(
                    shell: """
                        mkfifo "$HOME/gone"
                        head -c 0 <"$HOME/gone" &
                        exec 4>"$HOME/gone"
                        wait
                        "$keychainctl" sync status --json >&4
                        """)
                #expect(gone.status == 1, "\(gone)")
                // The relay with one or all standard streams closed, and with standard error on a
                // full device.
                for (number, redirection) in [
                    "<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full",
                ].enumerated() {
                    let outcome = try one.run(
                        shell: """
                            "$keychainctl" sync run \(redirection) &
                            relay=$!
                            trap 'kill -KILL "$relay" 2>/dev/null' EXIT
                            end=$((SECONDS + 120))
                            printf %s "value" | "$keychainctl" set -s soak -a "planted run \(number)" \
                                --synchronizable --no-prompt || exit 9
                            until "$keychainctl" sync status --json | grep -q '"waiting": 0'; do
                                [ "$SECONDS" -lt "$end" ] || exit 8
                            done
                            kill -TERM "$relay" && wait "$relay"
                            """)
                    #expect(outcome.status == 0, "\(redirection): \(outcome)")
                    all["planted run \(number)"] = "value"
                }
                try two.require(["sync", "status"])
                #expect(try two.values() == all)
                #expect(try one.status().notices == [])
                #expect(try one.run(["check"]).isDone)
            }
        }
    }
}

#endif
