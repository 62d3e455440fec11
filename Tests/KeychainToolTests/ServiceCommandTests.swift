// The service of a user, which `keychainctl service` starts and stops, with systemd and without.

import Foundation
import Glibc
import Testing

@testable import KeychainTool

@Suite struct `The command service` {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `the units that service enable installs equal the distributed units`() throws {
        func distributed(_ name: String) throws -> String {
            let file = Self.root.appending(path: "Distribution/systemd/user/\(name)")
            return try String(contentsOf: file, encoding: .utf8)
        }
        #expect(
            UserUnits.service(running: "/usr/local/bin/keychaind")
                == (try distributed("keychaind.service")))
        #expect(UserUnits.socket == (try distributed("keychaind.socket")))
        #expect(UserUnits.word("/a b/100%/$x/\"k") == "\"/a b/100%%/$$x/\\\"k\"")
    }

    @Test(
        arguments: [
            ("PROGRAM", true), ("-@PROGRAM keychaind", true), ("PROGRAM --log-level debug", true),
            ("/nonexistent/keychaind", false), ("-/nonexistent/keychaind", false), ("", false),
            // Paths that systemd unquotes or expands are assumed to exist.
            (UserUnits.word("/nonexistent/100%/$x/keychaind"), true),
            (UserUnits.word("/nonexistent/a b/keychaind"), true),
            ("%h/bin/keychaind", true), ("${HOME}/bin/keychaind", true),
        ])
    func `a unit whose program is missing counts as not installed`(
        _ command: String, _ isInstalled: Bool
    ) throws {
        let home = try TestHome()
        let folder = home.path + "/.config/systemd/user/"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let line = "ExecStart=" + command.replacing("PROGRAM", with: "/bin/sh")
        try "[Service]\n\(line)\n".write(
            toFile: folder + UserUnits.serviceName, atomically: true, encoding: .utf8)
        try UserUnits.socket.write(
            toFile: folder + UserUnits.socketName, atomically: true, encoding: .utf8)
        let places = try UserPlaces(["HOME": home.path, "XDG_RUNTIME_DIR": home.path])
        let installed = UserUnits.installed(places)
        #expect(installed == (isInstalled ? folder + UserUnits.serviceName : nil), "\(line)")
    }

    @Test func `without systemd the service runs in the background until it is stopped`() throws {
        let home = try TestHome()
        let outcome = try home.run(
            """
            export XDG_RUNTIME_DIR=$HOME/run; mkdir -m 700 run
            printf secret | keychainctl set -s mail -a me
            # KEYCHAIN_SERVICE applies to this command and isn't passed on to the service.
            KEYCHAIN_SERVICE=embedded keychainctl service enable --manager none >first
            sed 's/process [0-9]*/process N/' first
            keychainctl service enable --manager none | head -1
            keychainctl get -s mail; echo
            keychainctl status | grep '^mode:'
            pid=$(sed -n 's/.*process //p' first | head -1)
            ps -o sid= -p $pid | grep -qw $pid && echo a separate session
            readlink /proc/$pid/cwd /proc/$pid/fd/0
            ls /proc/$pid/fd | grep -c '^[12]$'
            stat -c '%a %n' .local/state/keychain/keychaind.log
            keychainctl service status --manager none --json
            keychainctl status --json >status; grep -c -e '"operation": "find"' status
            keychainctl status | grep -c find
            keychainctl service disable --manager none | sed 's/process [0-9]*/process N/'
            keychainctl service disable --manager none | head -1
            readlink /proc/$pid/exe || echo ended
            keychainctl get -s mail; echo
            """)
        let output = outcome.output.replacing(home.path, with: "~")
            .replacing(ChildProcess.programs, with: "PROGRAMS")
        #expect(
            output == """
                done:      started keychaind in the background, process N
                running:   yes
                manager:   none
                socket:    ~/run/keychain/socket
                log:       ~/.local/state/keychain/keychaind.log
                at login:  add this line to ~/.profile: PROGRAMS/keychainctl service enable
                programs:  don't use this service; chosen by the variable KEYCHAIN_SERVICE
                done:      nothing: the service is already running
                secret
                mode:            service: the service process has the keychain open; chosen by \
                the socket of this user's service
                a separate session
                /
                /dev/null
                2
                600 .local/state/keychain/keychaind.log
                {
                  "done": [],
                  "running": true,
                  "manager": "none",
                  "socket": "~/run/keychain/socket",
                  "log": "~/.local/state/keychain/keychaind.log",
                  "programs": "use this service"
                }
                1
                0
                done:      stopped keychaind, process N
                running:   no
                manager:   none
                socket:    ~/run/keychain/socket
                log:       ~/.local/state/keychain/keychaind.log
                programs:  don't use this service; chosen by default, because no service has a socket
                done:      nothing: the service is not running
                ended
                secret

                """, "\(outcome.errors)")
        #expect(outcome.ending == .exit(0))
    }

    @Test func `with systemd the service's units are installed and enabled`() throws {
        let home = try TestHome()
        // A stand-in for systemctl records its arguments, and starts or stops the service.
        let outcome = try home.run(
            """
            export XDG_RUNTIME_DIR=$HOME/run; mkdir -m 700 run; mkdir bin
            cat >bin/systemctl <<'END'
            #!/bin/sh
            echo "$@" >>"$HOME/calls"
            [ "$2" != enable ] || [ -S "$HOME/run/keychain/socket" ] ||
                setsid keychaind --log-level error >/dev/null 2>&1 &
            [ "$2" != disable ] || keychainctl service disable --manager none >/dev/null
            END
            chmod 755 bin/systemctl; export PATH=$HOME/bin:$PATH
            keychainctl service enable --manager systemd
            ls .config/systemd/user; grep ^ExecStart= .config/systemd/user/keychaind.service
            keychainctl service enable --manager systemd | head -1
            keychainctl service disable --manager systemd | head -2
            cat calls
            echo 'exit 1' >bin/systemctl
            keychainctl service enable --manager systemd || echo "exit $?"
            """)
        let output = outcome.output.replacing(home.path, with: "~")
            .replacing(ChildProcess.programs, with: "PROGRAMS")
        #expect(
            output == """
                done:      installed ~/.config/systemd/user/keychaind.service
                done:      installed ~/.config/systemd/user/keychaind.socket
                done:      ran systemctl --user daemon-reload
                done:      ran systemctl --user enable --now keychaind.socket
                running:   yes
                manager:   systemd
                socket:    ~/run/keychain/socket
                at login:  systemd listens; with `loginctl enable-linger` also without a login, \
                for example for cron
                programs:  use this service
                keychaind.service
                keychaind.socket
                ExecStart=PROGRAMS/keychaind
                done:      ran systemctl --user enable --now keychaind.socket
                done:      ran systemctl --user disable --now keychaind.socket keychaind.service
                running:   no
                --user daemon-reload
                --user enable --now keychaind.socket
                --user enable --now keychaind.socket
                --user disable --now keychaind.socket keychaind.service
                exit 1

                """, "\(outcome.errors)")
        #expect(outcome.errors.contains("--manager none"))
    }

    @Test func `service disable doesn't stop a process that isn't named keychaind`() throws {
        let home = try TestHome()
        let outcome = try home.run(
            """
            export XDG_RUNTIME_DIR=$HOME/run; mkdir -p -m 700 run/keychain
            cp '\(ChildProcess.programs)/keychaind' other
            ./other --log-level error & other=$!
            while ! [ -S run/keychain/socket ]; do sleep 0.01; done
            keychainctl service disable --manager none || echo "exit $?"
            kill -0 $other && echo alive; kill $other; wait $other
            """)
        #expect(outcome.output == "exit 1\nalive\n", "\(outcome.errors)")
        #expect(outcome.errors.contains("is not a keychaind of this user. Nothing was terminated."))
    }

    @Test func `service disable stops a keychaind whose file was replaced by an update`() throws {
        let home = try TestHome()
        let outcome = try home.run(
            """
            export XDG_RUNTIME_DIR=$HOME/run; mkdir -m 700 run; mkdir bin
            cp '\(ChildProcess.programs)/keychaind' bin
            bin/keychaind --log-level error & service=$!
            while ! [ -S run/keychain/socket ]; do sleep 0.01; done
            cp bin/keychaind new; mv new bin/keychaind
            readlink /proc/$service/exe | grep -c 'keychaind (deleted)$'
            keychainctl service disable --manager none | grep -c 'stopped keychaind'
            kill $service 2>/dev/null; wait $service
            """)
        #expect(outcome.output == "1\n1\n", "\(outcome.errors)")
    }

    @Test func `a service whose socket another process took isn't reported as started`() throws {
        let home = try TestHome()
        // The stand-in for keychaind only starts the process that listens.
        let outcome = try home.run(
            """
            export XDG_RUNTIME_DIR=$HOME/run; mkdir -m 700 run; mkdir bin
            cp '\(ChildProcess.programs)/keychainctl' bin
            cat >bin/keychaind <<'END'
            #!/bin/sh
            '\(ChildProcess.programs)/keychaind' --log-level error & wait
            END
            chmod 755 bin/keychaind
            bin/keychainctl service enable --manager none | head -1
            keychainctl service disable --manager none | grep -c 'stopped keychaind'
            """)
        #expect(
            outcome.output == "done:      nothing: the service is already running\n1\n",
            "\(outcome.errors)")
    }

    @Test func `without a runtime folder, service enable says what is missing`() throws {
        let outcome = try TestHome().run("keychainctl service enable --manager none")
        #expect(outcome.ending == .exit(1))
        #expect(outcome.errors.contains("set XDG_RUNTIME_DIR to it for every program"))
    }
}
