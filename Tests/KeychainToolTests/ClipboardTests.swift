// The clipboard when the process that clears it later can't be started.

import Foundation
import Glibc
import Testing

@testable import KeychainTool

@Suite struct `A clipboard that isn't cleared later` {
    /// A clipboard program that keeps the content in a file. Starting it can change the caller's
    /// `errno`, as starting any program can.
    private func clipboard(in home: TestHome, canClear: Bool) throws -> Clipboard {
        let program = home.path + "/xsel"
        try """
        #!/bin/sh
        case $2 in
        --input) cat >\(shellQuoted(home.path))/content ;;
        --clear) \(canClear ? "rm \(shellQuoted(home.path))/content" : "exit 1") ;;
        esac
        """.write(toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: program)
        return Clipboard(.xsel, path: home.path + ":/usr/bin:/bin")
    }

    @Test(
        arguments: [
            (true, "Cannot allocate memory. The clipboard was cleared."),
            (
                false,
                "Cannot allocate memory. The clipboard couldn't be cleared either: it still "
                    + "contains the secret."
            ),
        ])
    func `if the clipboard can't be cleared later, the error says whether it was cleared at once`(
        _ canClear: Bool, _ end: String
    ) throws {
        let home = try TestHome()
        let clipboard = try clipboard(in: home, canClear: canClear)
        let failure = #expect(throws: ControlFailure.self) {
            try clipboard.hold(Array("tiger".utf8), for: 1) { _, _, _ in
                errno = ENOMEM
                return false
            }
        }
        #expect(failure?.message.hasSuffix(end) == true, "\(failure?.message ?? "")")
        let content = try? String(contentsOfFile: home.path + "/content", encoding: .utf8)
        #expect(content == (canClear ? nil : "tiger"))
    }
}
