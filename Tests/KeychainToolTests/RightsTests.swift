// The behavior of a set-user-id program that has more rights than its caller.

import Foundation
import Glibc
import Testing

@Suite struct `A program with set-user-id rights` {
    /// Copies the tool as a set-user-id program. The copy belongs to another user if the tests run
    /// as root, and otherwise to the user who runs the tests.
    /// - Returns: Whether the copy belongs to another user.
    private func copy(to home: TestHome) throws -> Bool {
        let copy = home.path + "/keychainctl"
        // A separate process makes the copy. Otherwise a process that another test starts meanwhile
        // could inherit the copy's writable descriptor, and a file open for writing can't be
        // executed.
        let copying = try home.run("cp '\(ChildProcess.programs)/keychainctl' '\(copy)'")
        try #require(copying.ending == .exit(0), "\(copying.errors)")
        // Only root can give the copy to another user. A copy of any other user belongs to that
        // user and has no additional rights.
        let isRoot = geteuid() == 0
        // SAFETY: the path is copied within the call.
        let isGiven =
            unsafe chown(copy, isRoot ? 65_534 : geteuid(), gid_t.max) == 0
            && chmod(copy, 0o4755) == 0
        try #require(isGiven)
        return isRoot
    }

    @Test func `a set-user-id keychainctl starts no other program`() throws {
        let home = try TestHome()
        let isRoot = try copy(to: home)
        let outcome = try home.run("echo A=b >m; ./keychainctl run --manifest m -- id -u")
        #expect(outcome.output == (isRoot ? "" : "\(geteuid())\n"))
        #expect(outcome.ending == .exit(isRoot ? 5 : 0), "\(outcome.errors)")
    }

    @Test func `a set-user-id keychainctl ignores the variables that choose the keychain`() throws {
        let home = try TestHome()
        let isRoot = try copy(to: home)
        let outcome = try home.run(
            "KEYCHAIN_DIRECTORY=\(home.path)/mine KEYCHAIN_SERVICE=embedded ./keychainctl status")
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        let isUsed = outcome.output.contains("the variable KEYCHAIN_DIRECTORY")
        #expect(isUsed == !isRoot, "\(outcome.output)")
        #expect(outcome.output.contains(home.path) == !isRoot, "\(outcome.output)")
    }
}
