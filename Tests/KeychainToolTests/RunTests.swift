// The guarantees of `run` for the program that it starts.

import Foundation
import Glibc
import Testing

@Suite struct `A program that run starts` {
    private func home() throws -> TestHome {
        let home = try TestHome()
        let outcome = try home.run(
            """
            printf tiger | keychainctl set -s db -a prod
            printf 'line one\\nline two\\n' | keychainctl set -s tls
            printf 'a\\000b\\377' | keychainctl set -s binary -a key
            """)
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        return home
    }

    private func expect(
        _ home: TestHome, _ command: String, _ output: String, errors: String = "",
        status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let outcome = try home.run(command)
        #expect(outcome.output == output, sourceLocation: sourceLocation)
        #expect(outcome.errors == errors, sourceLocation: sourceLocation)
        #expect(outcome.ending == .exit(status), sourceLocation: sourceLocation)
    }

    @Test(arguments: ["", "--mask"])
    func `a program started by run gets the exact secret as variable, file or descriptor`(
        _ mask: String
    ) throws {
        let home = try home()
        // `od` encodes the output, and `--mask` doesn't conceal encoded secrets.
        try expect(
            home,
            """
            printf 'a\\000b\\377' >exact
            keychainctl run \(mask) --env A=db/prod --env B=tls/ --file C=binary/key --fd 9=binary \\
                --fd 0=tls -- sh -c 'printf %s "$A$B" | od -An -c; cat "$C" | cmp - exact && cmp exact /dev/fd/9 &&
                cat <&9 | cmp - exact && cat "$C" | cmp - exact && od -An -c'
            """,
            """
               t   i   g   e   r   l   i   n   e       o   n   e  \\n   l   i
               n   e       t   w   o  \\n
               l   i   n   e       o   n   e  \\n   l   i   n   e       t   w
               o  \\n

            """)
    }

    @Test func `a secret's memory file has mode 400 and can't be written or executed`() throws {
        let home = try home()
        try expect(
            home,
            """
            keychainctl run --file A=db/prod --fd 9=db -- sh -c '
                (echo x >"$A") 2>&-; (echo x >&9) 2>&-; truncate -s 0 "$A" 2>&-
                stat -L -c %a "$A"; cat "$A"; echo " ${A%/*}"; echo x >exact; [ -x "$A" ] || echo no'
            """, "400\ntiger /proc/self/fd\nno\n")
    }

    @Test(arguments: ["", "--mask"])
    func `a program started by run has only the caller's and the requested descriptors`(
        _ mask: String
    ) throws {
        let home = try home()
        try expect(
            home,
            """
            printf x >pass
            ls /proc/self/fd >plain
            keychainctl run \(mask) --env A=db/prod -- ls /proc/self/fd | cmp - plain && echo same
            keychainctl run \(mask) --passcode-fd 8 --application-password-fd 7 --file A=db/prod --fd 11=db \\
                5</dev/null 7<pass 8<pass -- sh -c 'ls /proc/self/fd' | tr '\\n' ' '
            """, "same\n0 1 11 2 3 4 5 ")
    }

    @Test func `run replaces itself with the program`() throws {
        let home = try home()
        try expect(
            home,
            """
            keychainctl run --env A=db/prod -- sh -c 'echo $$; readlink /proc/$$/exe' >out & wait $!
            echo $! >pid; readlink -f /bin/sh >>pid; cmp pid out && echo same
            keychainctl run --env A=db/prod -- sh -c 'exit 7'; echo $?
            keychainctl run --env A=db/prod -- sh -c 'kill -KILL $$'; echo $?
            ulimit -S -c 1000 2>&-
            ulimit -S -c >plain; keychainctl run --env A=db/prod -- sh -c 'ulimit -S -c; ulimit -H -c' >out
            ulimit -H -c >>plain; cmp plain out && echo limits
            """, "same\n7\n137\nlimits\n", errors: "Killed\n")
    }

    @Test func `a program started by run has the caller's variables and arguments unchanged`()
        throws
    {
        let home = try home()
        try expect(
            home,
            """
            export KEYCHAIN_TPM=none B=$(printf 'a\\377b') A=old C=c
            env >plain
            keychainctl run --env A=db/prod -- env >out
            sorted() { LC_ALL=C sort "$1" | grep -av ^_=; }
            sorted plain | LC_ALL=C sed s/^A=old/A=tiger/ >expected; sorted out | cmp - expected && echo variables
            keychainctl run --clear-env --env A=db/prod -- env
            keychainctl run --env A=db/prod -- printf '%s.' "$(printf 'x\\377y')" '' '--' '--env' | od -An -c
            """,
            """
            variables
            A=tiger
               x 377   y   .   .   -   -   .   -   -   e   n   v   .

            """)
    }

    @Test func `run doesn't start the program if it can't read or pass a secret`() throws {
        let home = try home()
        let program = "-- touch started"
        for (options, status, error) in [
            (
                "--env A=db/prod --env B=db/test", 3,
                "db/test: No item matches. Run `keychainctl doctor db/test` to find out why."
            ),
            (
                "--fd 5=nothing", 3,
                "nothing: No item matches. Run `keychainctl doctor nothing` to find out why."
            ),
            (
                "--env A=binary/key", 1,
                "binary/key: The secret contains a NUL byte, which a variable can't contain. Use "
                    + "--file or --fd."
            ),
            (
                "--mask --env A=short", 1,
                "short: The secret has fewer than 4 bytes: --mask would find it in almost any "
                    + "output."
            ),
            ("--manifest none", 1, "Can't read the manifest none: No such file or directory."),
            ("--fd 100000000=db", 1, "Can't use descriptor 100000000: Invalid argument."),
        ] as [(String, Int32, String)] {
            let outcome = try home.run(
                "printf abc | keychainctl set -s short; keychainctl run \(options) \(program); s=$?; "
                    + "[ ! -e started ] || echo started; exit $s")
            #expect(outcome.output == "", "\(options)")
            #expect(outcome.errors.hasPrefix("keychainctl: " + error), "\(outcome.errors)")
            #expect(outcome.ending == .exit(status), "\(options)")
        }
    }

    @Test func `run doesn't start the program if the keychain is locked or missing`() throws {
        let home = try TestHome()
        let absent = try home.run("keychainctl run --env A=db/prod -- touch started")
        #expect(absent.ending == .exit(3))
        let locked = try home.run(
            """
            printf tiger | keychainctl set -s db -a prod
            printf pass | keychainctl passcode set --weak --fd 0
            keychainctl run --env A=db/prod -- touch started; echo $?
            printf pass | keychainctl run --passcode-fd 0 --env A=db/prod -- sh -c 'echo $A; cat'
            ls started
            """)
        #expect(locked.output == "4\ntiger\n")
        #expect(locked.errors.hasPrefix("keychainctl: db/prod: The item is locked"))
    }

    @Test func `run reports whether the program is missing or not executable`() throws {
        let home = try home()
        // A program that is missing or not executable is reported before a secret is read. That is
        // why no error mentions the item `none`, which doesn't exist.
        try expect(
            home,
            """
            keychainctl run --env A=none -- no-such-program; echo $?
            keychainctl run --env A=none -- ./none; echo $?
            echo 'echo $A' >text; keychainctl run --env A=none -- ./text; echo $?
            keychainctl run --env A=none -- /; echo $?
            PATH=$PATH:$HOME keychainctl run --env A=none -- text; echo $?
            chmod +x text; keychainctl run --env A=db/prod -- ./text
            keychainctl run --mask --env A=db/prod -- ./text
            printf '#!/no/shell\\n' >text; keychainctl run --env A=db/prod -- ./text; echo $?
            head -c 200000 /dev/zero | tr '\\0' x | keychainctl set -s large
            keychainctl run --env A=large -- true; echo $?
            keychainctl run --file A=large -- sh -c 'wc -c <$A'
            """, "127\n127\n126\n126\n126\ntiger\n<concealed>\n127\n126\n200000\n",
            errors: [
                "The program or its interpreter was not found. Nothing was started.",
                "The program or its interpreter was not found. Nothing was started.",
                "The program can't be executed: Permission denied. Nothing was started.",
                "The program can't be executed: Permission denied. Nothing was started.",
                "The program can't be executed: Permission denied. Nothing was started.",
                "The program or its interpreter was not found. Nothing was started.",
                "The arguments and environment variables are too large for a program. Pass a large "
                    + "secret with --file. Nothing was started.",
            ].map { "keychainctl: \($0)\n" }.joined())
    }

    @Test func `a program started by run gets the variables of a manifest`() throws {
        let home = try home()
        try expect(
            home,
            """
            cat >.env <<'END'
            # This file contains no secret.
            export A=keychain:db/prod
            B="keychain-file:tls"
            C='literal $A'
            D=first
            END
            echo D=second >more
            keychainctl run --manifest .env --env-file more --env C=db -- \\
                sh -c 'echo $A; cat $B; echo $C $D'
            echo 'X=keychain:db/test' >>.env
            keychainctl run --manifest .env -- touch started || ls started 2>&-
            """, "tiger\nline one\nline two\ntiger second\n",
            errors:
                "keychainctl: db/test: No item matches. Run `keychainctl doctor db/test` to find "
                + "out why. Nothing was started.\n", status: 2)
    }

    @Test func `run works with a keychain service`() throws {
        let home = try home()
        try expect(
            home,
            """
            export XDG_RUNTIME_DIR=$HOME/run; mkdir -m 700 run
            keychainctl service enable --manager none >log
            keychainctl status | grep -c '^mode: *service'
            keychainctl run --env A=db/prod -- sh -c 'echo $A; ls /proc/self/fd' | tr '\\n' ' '
            keychainctl run --mask --env A=db/prod -- sh -c 'echo $A; ls /proc/self/fd' | tr '\\n' ' '
            keychainctl service disable --manager none >log
            """, "1\ntiger 0 1 2 3 <concealed> 0 1 2 3 ")
    }

    @Test func `run rejects incomplete, contradictory and invalid arguments`() throws {
        let home = try home()
        for (arguments, complaint) in [
            ("--env A=db", "Specify the program after the options and “--”."),
            ("-- true", "Specify at least one of --env, --file, --fd or --manifest."),
            ("--env A=db --file A=tls -- true", "A is set twice."),
            ("--fd 5=db --fd 5=tls -- true", "Descriptor 5 is used twice."),
            ("--fd 5=db --passcode-fd 5 -- true", "Descriptor 5 is used twice."),
            (
                "--fd 1=db -- true",
                "The value '1=db' is invalid for '--fd <number=item>': A program writes"
            ),
            (
                "--env 1=db -- true",
                "The value '1=db' is invalid for '--env <name=item>': “1” is not a valid"
            ),
            (
                "--env A -- true",
                "The value 'A' is invalid for '--env <name=item>': Write NAME=SERVICE/ACCOUNT."
            ),
            (
                "--env A=/x -- true",
                "The value 'A=/x' is invalid for '--env <name=item>': The service is missing."
            ),
        ] {
            let outcome = try home.run("keychainctl run \(arguments)")
            #expect(outcome.ending == .exit(64), "\(arguments)")
            #expect(outcome.errors.hasPrefix("keychainctl: " + complaint), "\(outcome.errors)")
        }
    }
}
