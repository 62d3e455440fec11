// The behavior of a set-user-id keychainctl that belongs to a user other than its caller, and of
// one that belongs to its caller.

import Foundation
import Glibc
import Testing

private let isRoot = geteuid() == 0
private let needsRoot: Comment = "only root can give a program to another user"
private let otherUser: uid_t = 65_534

@Suite struct `A program with set-user-id rights` {
    /// Copies the tool as a set-user-id program that belongs to a user.
    private func copy(to home: TestHome, of user: uid_t) throws {
        let copy = home.path + "/keychainctl"
        // A separate process makes the copy. Otherwise a process that another test starts meanwhile
        // could inherit the copy's writable descriptor, and a file open for writing can't be
        // executed.
        let copying = try home.run("cp '\(ChildProcess.programs)/keychainctl' '\(copy)'")
        try #require(copying.ending == .exit(0), "\(copying.errors)")
        // SAFETY: the path is copied within the call.
        let isGiven = unsafe chown(copy, user, gid_t.max) == 0 && chmod(copy, 0o4755) == 0
        try #require(isGiven)
    }

    @Test(
        .enabled(if: isRoot, needsRoot),
        arguments: ["run --manifest m -- id -u", "import pass . --yes", "setup git --yes"])
    func `another user's set-user-id keychainctl refuses to run a program`(
        command: String
    ) throws {
        let home = try TestHome()
        try copy(to: home, of: otherUser)
        let outcome = try home.run("echo A=b >m; ./keychainctl \(command)")
        #expect(outcome.output == "")
        #expect(outcome.ending == .exit(5), "\(outcome.errors)")
        #expect(outcome.errors.contains("has rights that its caller doesn't have"))
    }

    @Test(.enabled(if: isRoot, needsRoot))
    func `another user's set-user-id keychainctl ignores the variables that choose the keychain`()
        throws
    {
        let home = try TestHome()
        try copy(to: home, of: otherUser)
        let outcome = try home.run(
            "KEYCHAIN_DIRECTORY=\(home.path)/mine KEYCHAIN_SERVICE=embedded ./keychainctl status")
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        #expect(!outcome.output.contains("the variable KEYCHAIN_DIRECTORY"), "\(outcome.output)")
        #expect(!outcome.output.contains(home.path), "\(outcome.output)")
    }

    @Test
    func `a set-user-id keychainctl that belongs to its caller behaves like an ordinary one`()
        throws
    {
        let home = try TestHome()
        try copy(to: home, of: geteuid())
        let started = try home.run("echo A=b >m; ./keychainctl run --manifest m -- id -u")
        #expect(started.output == "\(geteuid())\n")
        #expect(started.ending == .exit(0), "\(started.errors)")
        let outcome = try home.run(
            "KEYCHAIN_DIRECTORY=\(home.path)/mine KEYCHAIN_SERVICE=embedded ./keychainctl status")
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        #expect(outcome.output.contains("the variable KEYCHAIN_DIRECTORY"), "\(outcome.output)")
        #expect(outcome.output.contains(home.path), "\(outcome.output)")
    }
}
