// The guarantees of `run --mask`: what it conceals, and how it passes on output, signals and the
// status of the program.

import Foundation
import Glibc
import Testing

@Suite struct `A program whose output is masked` {
    private func run(_ command: String) throws -> TestHome.Outcome {
        let home = try TestHome()
        return try home.run("printf 'tiger\\n' | keychainctl set -s db -a prod\n" + command)
    }

    @Test func `run --mask conceals the secret's exact bytes, but not their Base64`() throws {
        let outcome = try run(
            """
            keychainctl run --mask --env A=db/prod -- sh -c '
                echo "$A"; echo "to errors: $A" >&2; printf ti; sleep 0.2; printf "ger\\n"; echo tigre
                echo tige >/dev/stdout; printf %s "${A%?}" | base64'
            """)
        #expect(outcome.output == "<concealed>\n\n<concealed>\ntigre\ntige\ndGlnZXI=\n")
        #expect(outcome.errors == "to errors: <concealed>\n\n")
        #expect(outcome.ending == .exit(0))
    }

    @Test func `run --mask passes on the output of background processes`() throws {
        let outcome = try run(
            """
            mkfifo go
            keychainctl run --mask --env A=db/prod -- sh -c '(read x <go; echo "late $A") & exit 5' >out &
            echo >go; wait $!; echo $?; cat out
            """)
        #expect(outcome.output == "5\nlate <concealed>\n\n")
    }

    @Test func `run --mask exits with the program's status, or 128 plus the signal's number`()
        throws
    {
        let home = try TestHome()
        try #require(
            try home.run("printf tiger | keychainctl set -s db").ending == .exit(0))
        let endings: [(String, Int32)] = [
            ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143),
        ]
        for (command, status) in endings {
            // The test starts keychainctl without a shell, because the `$?` of a shell doesn't tell
            // an exit with status 137 from an end by signal 9.
            let process = try ChildProcess.spawn(
                [
                    ChildProcess.programs + "/keychainctl", "run", "--mask", "--env", "A=db", "--",
                    "sh", "-c", command,
                ],
                environment: home.environment,
                opening: [
                    .init(descriptor: 0, path: "/dev/null", flags: O_RDONLY),
                    .init(descriptor: 1, path: "/dev/null", flags: O_WRONLY),
                    .init(descriptor: 2, path: "/dev/null", flags: O_WRONLY),
                ])
            #expect(try ChildProcess.wait(for: process) == .exit(status), "\(command)")
        }
    }

    /// A shell command that starts a background process whose output streams are closed, and stores
    /// its process id in `p`.
    private static let waiting = "sleep 60 >&- 2>&- & p=$!"

    @Test(arguments: ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH", "ALRM"])
    func `run --mask passes signals on to the program`(_ signal: String) throws {
        // A shell without job control makes its background processes ignore INT and QUIT.
        let outcome = try run(
            """
            mkfifo ready
            env --default-signal keychainctl run --mask --env A=db -- sh -c '
                \(Self.waiting); trap "kill $p; echo \(signal); exit 9" \(signal)
                echo >ready; wait; wait' >out &
            read x <ready; kill -\(signal) $!; wait $!; echo $?; cat out
            """)
        #expect(outcome.output == "9\n\(signal)\n")
    }

    @Test func `a signal key at the terminal reaches a masked program once`() throws {
        let home = try TestHome()
        try #require(
            try home.run("printf tiger | keychainctl set -s db").ending == .exit(0))
        let dialogue = try Dialogue(
            home, "run", "--mask", "--env", "A=db", "--", "sh", "-c",
            """
            n=0; trap 'n=$((n+1)); echo interrupted' INT; echo ready
            until read line; do :; done; echo "$line $n $A"
            """)
        try dialogue.expect("ready")
        try dialogue.type("\u{3}")
        try dialogue.expect("interrupted")
        try dialogue.type("times\n")
        try dialogue.expect("times 1 <concealed>")
        #expect(try dialogue.end() == .exit(0))
    }

    @Test func `a signal key at the terminal isn't passed on to a program in another session`()
        throws
    {
        let home = try TestHome()
        try #require(
            try home.run("printf tiger | keychainctl set -s db").ending == .exit(0))
        // In a separate session the program doesn't receive the terminal's signals.
        let dialogue = try Dialogue(
            home, "run", "--mask", "--env", "A=db", "--", "setsid", "sh", "-c",
            """
            trap 'echo interrupted' INT; echo ready
            for i in 1 2 3; do until read line; do :; done; echo "read $i"; done
            """)
        try dialogue.expect("ready")
        for index in 1...3 {
            try dialogue.type("\u{3}")
            try dialogue.type("line\n")
            try dialogue.expect("read \(index)")
        }
        #expect(try dialogue.end() == .exit(0))
        #expect(!dialogue.shown.contains("interrupted"))
    }

    @Test func `run --mask stops and continues together with the program`() throws {
        let outcome = try run(
            """
            # A separate shell runs this loop, because bash leaves its loops when a job stops.
            cat >are <<'END'
            is() { grep -q "^State:.$2" /proc/$1/status; }
            # The loop ends after about a minute at the latest.
            for i in $(seq 20000); do is $1 $3 && is $2 $3 && exit; done; echo not $3
            END
            cat >script <<'END'
            set -m
            mkfifo ready
            keychainctl run --mask --env A=db -- sh -c '
                \(Self.waiting); trap "kill $p; exit 9" TERM; echo $$ >ready; wait; wait' &
            read program <ready
            kill -TSTP $!; sh are $! $program T; echo stopped
            kill -CONT $!; sh are $! $program S; echo goes on
            kill -CONT $program; kill -TERM $!; wait $!; echo $?
            END
            bash script
            """)
        #expect(outcome.output == "stopped\ngoes on\n9\n")
    }

    @Test func `a masked program notices when nothing reads its output any more`() throws {
        let outcome = try run(
            """
            (keychainctl run --mask --env A=db -- sh -c 'trap "" PIPE; echo >&2 started
                until ! echo "$A" 2>&-; do :; done; echo told >&2'; echo $? >&2) | head -c 3
            keychainctl run --mask --env A=db -- sh -c 'yes; exit 4' 2>&- >&-; echo $?
            keychainctl run --mask --env A=db -- sh -c 'yes; exit 4' >/dev/full; echo $?
            """)
        #expect(outcome.output == "<co4\n4\n")
        #expect(
            outcome.errors == "started\ntold\n0\n"
                + "keychainctl: Can't write the program's output: No space left on device.\n")
    }

    @Test func `run --mask waits for a reader even if the output is non-blocking`() throws {
        let home = try TestHome()
        try #require(
            try home.run("printf tiger | keychainctl set -s db; mkfifo out").ending == .exit(0))
        let process = try ChildProcess.spawn(
            [ChildProcess.programs + "/keychainctl", "run", "--mask", "--env", "A=db", "--"]
                + [
                    "sh", "-c", "head -c 150000 /dev/zero; echo half >&2; head -c 150000 /dev/zero",
                ],
            environment: home.environment,
            opening: [
                .init(descriptor: 0, path: "/dev/null", flags: O_RDONLY),
                .init(descriptor: 1, path: home.path + "/out", flags: O_RDWR | O_NONBLOCK),
                .init(descriptor: 2, path: home.path + "/errors", flags: O_WRONLY | O_CREAT),
            ])
        // The reader waits, for 5000 checks at most, until `errors` has a line. By then the program
        // has written more bytes than its output pipe and the named pipe `out` can hold.
        let reader =
            "for i in $(seq 5000); do grep -q . errors && break; done; head -c 300000 out | wc -c"
        #expect(try home.run(reader).output == "300000\n")
        #expect(try ChildProcess.wait(for: process) == .exit(0))
        #expect(try home.run("cat errors").output == "half\n")
    }

    @Test func `run --mask keeps ignoring the signals that its caller ignores`() throws {
        let outcome = try run(
            """
            trap '' HUP
            keychainctl run --mask --env A=db -- sh -c 'kill -HUP $$; kill -HUP $PPID; echo alive'
            """)
        #expect(outcome.output == "alive\n")
        #expect(outcome.ending == .exit(0))
    }
}
