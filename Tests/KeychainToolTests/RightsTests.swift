// What a program with more rights than its caller believes.

import Foundation
import Glibc
import Testing

@Suite struct `A program with the rights of others` {
    /// Copies the tool with the rights of another user, or of this one where that isn't root.
    /// - Returns: Whether they are another's.
    private func copy(to home: TestHome) throws -> Bool {
        let copy = home.path + "/keychainctl"
        // By a process of its own: one that another test starts meanwhile would inherit the open copy, and
        // nothing can be started that somebody may still write to.
        let copying = try home.run("cp '\(ChildProcess.programs)/keychainctl' '\(copy)'")
        try #require(copying.ending == .exit(0), "\(copying.errors)")
        // Root gives it to another user. Any other user can only make it their own, and has no
        // rights in it that they didn't have.
        let isRoot = geteuid() == 0
        // SAFETY: the path is copied within the call.
        let isGiven =
            unsafe chown(copy, isRoot ? 65_534 : geteuid(), gid_t.max) == 0
            && chmod(copy, 0o4755) == 0
        try #require(isGiven)
        return isRoot
    }

    @Test func `starts no other program`() throws {
        let home = try TestHome()
        let isRoot = try copy(to: home)
        let outcome = try home.run("echo A=b >m; ./keychainctl run --manifest m -- id -u")
        #expect(outcome.output == (isRoot ? "" : "\(geteuid())\n"))
        #expect(outcome.ending == .exit(isRoot ? 5 : 0), "\(outcome.errors)")
    }

    @Test func `no variable decides which keychain it opens`() throws {
        let home = try TestHome()
        let isRoot = try copy(to: home)
        let outcome = try home.run(
            "KEYCHAIN_DIRECTORY=\(home.path)/mine KEYCHAIN_SERVICE=embedded ./keychainctl status")
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        let isBelieved = outcome.output.contains("the variable KEYCHAIN_DIRECTORY")
        #expect(isBelieved == !isRoot, "\(outcome.output)")
        #expect(outcome.output.contains(home.path) == !isRoot, "\(outcome.output)")
    }
}
