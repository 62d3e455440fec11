// The keychain that a program finds without the variable XDG_RUNTIME_DIR, as in a cron job. The
// programs run in mount namespaces where /run is empty.

import Foundation
import Glibc
import Testing

extension TestHome {
    /// Runs a script as root with an empty /run. A user who isn't root becomes root in a user
    /// namespace.
    func runWithOwnRun(_ script: String) throws -> Outcome {
        let file = path + "/script"
        let start = """
            mount -t tmpfs -o mode=755 tmpfs /run
            mkdir -p /run/user && mkdir -m 700 /run/user/0
            plain="env -i HOME=$HOME PATH=$PATH LC_ALL=C.UTF-8 KEYCHAIN_TPM=none"
            until_there() { while ! [ -S "$1" ]; do sleep 0.01; done; }

            """
        try Data((start + script).utf8).write(to: URL(filePath: file))
        let user = geteuid() == 0 ? "" : "--user --map-root-user"
        return try run("unshare --mount \(user) sh -e '\(file)'")
    }
}

@Suite struct `A program without XDG_RUNTIME_DIR` {
    @Test
    func `without XDG_RUNTIME_DIR a program finds the service, and never uses a wrong keychain`()
        throws
    {
        let home = try TestHome()
        let outcome = try home.runWithOwnRun(
            """
            $plain keychaind --log-level error & service=$!
            until_there /run/user/0/keychain/socket
            printf secret | $plain keychainctl set -s mail -a me
            # The program finds the service by the path of its socket.
            $plain keychainctl status | grep -E '^(mode|socket):'
            $plain keychainctl get -s mail; echo
            # HOME isn't needed, because the user database contains the home folder.
            env -i PATH="$PATH" KEYCHAIN_TPM=none keychainctl status | grep '^socket:'
            echo 1. a folder that other users can enter
            chmod 755 /run/user/0
            $plain keychainctl get -s mail || echo "exit $?"
            chmod 700 /run/user/0
            echo 2. a socket that a killed service left
            kill -9 $service; wait $service || true
            $plain keychainctl get -s mail; echo
            echo 3. a socket without a lock file, at which nothing listens
            rm /run/user/0/keychain/socket.lock
            $plain keychainctl get -s mail || echo "exit $?"
            echo 4. no service
            rm /run/user/0/keychain/socket
            $plain keychainctl get -s mail; echo
            echo 5. the machine\\'s service instead of the user\\'s
            $plain keychaind --system --log-level error --directory "$HOME/machine" \\
                --registry "$HOME/programs" & service=$!
            until_there /run/keychaind/socket
            $plain keychainctl get -s mail || echo "exit $?"
            rm .local/share/keychain/service-lock
            $plain keychainctl status | grep '^mode:'
            kill $service; wait $service
            """)
        #expect(
            outcome.output == """
                mode:            service: the service process has the keychain open; chosen by \
                the socket of this user's service
                socket:          /run/user/0/keychain/socket
                secret
                socket:          /run/user/0/keychain/socket
                1. a folder that other users can enter
                exit 1
                2. a socket that a killed service left
                secret
                3. a socket without a lock file, at which nothing listens
                exit 1
                4. no service
                secret
                5. the machine's service instead of the user's
                exit 1
                mode:            service: the service process has the keychain open; chosen by \
                the socket of the machine's service

                """, "\(outcome.errors)")
        #expect(
            outcome.errors.contains("/run/user/0 contains the socket of a keychain service but"))
        #expect(
            outcome.errors.contains("Start the user's service with `keychainctl service enable`"))
    }
}
