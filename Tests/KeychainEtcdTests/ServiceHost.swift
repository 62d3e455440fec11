// ServiceHost: runs a keychain service that has a disk of its own, which a test can fill, and a
// clock that can be wrong.
//   (1) A shell in a mount namespace of its own mounts the disk, a tmpfs. On orders of the test, it
//       starts, suspends, resumes and kills the service, and fills and clears the disk. The shell
//       and the service end with the test's process.
//       The shell is bash, because `wait` of smaller shells needs SIGCHLD, which is blocked in
//       Foundation's threads and therefore in their child processes.
//   (2) libfaketime makes the service's clock wrong, except the monotonic clock, which stays right.
//       libfaketime moves the environment in memory, but only in the first program that loads it.
//       If that is a Swift program, it can't find its arguments. So the first program is `env`.

#if Synchronization

import EtcdTestSupport
import Foundation
import Glibc
import TestPrograms

/// Several tasks must not use a host at the same time.
final class ServiceHost {
    private let shell: TestProgram
    private let orders = Pipe()
    private let log: URL

    /// - Parameters:
    ///   - command: The service's program and its arguments.
    ///   - home: The folder whose subfolder `data` is the mount point of the disk.
    ///   - diskSize: The size of the disk, for example `4m`.
    /// - Throws: An error if the shell can't be started or the disk can't be mounted.
    init(_ command: [String], home: URL, diskSize: String) throws {
        log = home.appending(path: "service.log")
        // A user who isn't root becomes root in a user namespace.
        let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        shell = try TestProgram(
            path: "/usr/bin/env",
            ["unshare", "--mount"] + user + ["bash", "-c", Self.script, "bash"] + command,
            environment: [
                "place": home.appending(path: "data").path, "size": diskSize, "log": log.path,
            ], input: orders)
        try order("mount")
    }

    private static let script = """
        kill_service() {
            [ -n "$service" ] || return
            { kill -KILL "$service"; wait "$service"; } 2>/dev/null
            # The files that libfaketime leaves behind when a program is killed.
            rm -f "/dev/shm/faketime_shm_$service" "/dev/shm/sem.faketime_sem_$service"
            service=
        }
        service=
        while read -r order clock library; do
            case $order in
            mount) mount -t tmpfs -o "size=$size,mode=700" none "$place" || exit ;;
            start)
                kill_service
                env LD_PRELOAD="$library" FAKETIME="$clock" \
                    FAKETIME_DONT_FAKE_MONOTONIC=1 env "$@" </dev/null >>"$log" 2>&1 &
                service=$!
                ;;
            kill) kill_service ;;
            suspend) kill -STOP "$service" || exit ;;
            resume) kill -CONT "$service" || exit ;;
            fill)
                head -c 1G /dev/zero >"$place/ballast" 2>/dev/null
                [ "$(stat -f -c %f "$place")" = 0 ] || exit
                ;;
            clear) rm "$place/ballast" || exit ;;
            esac
            echo "$order"
        done
        kill_service
        """

    /// Sends an order to the shell, and waits until the order is carried out. The order `start`
    /// counts as carried out once the service's process runs, even if the service doesn't answer
    /// requests yet.
    ///
    /// - Throws: ``CircleMachine/Failure`` if the order fails.
    func order(_ order: String) throws {
        try orders.fileHandleForWriting.write(contentsOf: Data((order + "\n").utf8))
        guard let answer = shell.line(), order.hasPrefix(answer) else {
            throw CircleMachine.Failure(what: "the order \(order) failed: \(complaints)")
        }
    }

    func start(clock: String?) throws {
        guard let clock else { return try order("start") }
        try order("start \(clock) \(Self.library())")
    }

    /// The path of libfaketime, which makes the clock of a program wrong.
    ///
    /// - Throws: ``MissingProgram``.
    static func library() throws -> String {
        let folders = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
        let paths = folders.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
        guard let path = paths.first(where: FileManager.default.fileExists(atPath:)) else {
            throw MissingProgram(
                description: "These tests need libfaketime, which is not installed: apt-get "
                    + "install libfaketime")
        }
        return path
    }

    /// The output of the service so far, including its standard error.
    var complaints: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }
}

#endif
