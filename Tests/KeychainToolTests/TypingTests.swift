// What a person sees at a terminal of codes, editors and completion.

import Foundation
import Glibc
import KeychainCore
import KeychainEngine
import Testing

@Suite struct `Short words at a terminal` {
    private func home(_ command: String) throws -> TestHome {
        let home = try TestHome()
        let outcome = try home.run(command)
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        return home
    }

    @Test func `a code is shown with the time that it lasts`() throws {
        let home = try home("printf MFRGGZDFMZTWQ2LK | keychainctl otp set web")
        let dialogue = try Dialogue(home, "otp", "web")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown.wholeMatch(of: /\d{6}  \(\d+ seconds? left\)\n/) != nil)
    }

    @Test func `Control-C at the question for a key saves nothing`() throws {
        let home = try home(":")
        let dialogue = try Dialogue(home, "otp", "set", "web")
        try dialogue.expect("otpauth: URI, or key in Base32: ")
        #expect(!dialogue.isEchoing)
        try dialogue.type("MFRG\u{3}")
        #expect(try dialogue.end() == .signal(SIGINT))
        #expect(try home.run("keychainctl find").output.isEmpty)
    }

    @Test func `Control-C ends an editor, changes nothing and leaves no file`() throws {
        let home = try home("printf tiger | keychainctl set note")
        let dialogue = try Dialogue(
            home, "edit", "note",
            variables: ["EDITOR": "echo lion >\"$1\"; echo \"<$1>\"; exec sleep 600; :"])
        try dialogue.expect("/secret>")
        let path = try #require(dialogue.shown.firstMatch(of: /<(.*)\/secret>/)?.output.1)
        #expect(FileManager.default.fileExists(atPath: String(path)))
        try dialogue.type("\u{3}")
        try dialogue.expect("The editor ended with status 130. Nothing was changed.")
        #expect(try dialogue.end() == .exit(1))
        #expect(!FileManager.default.fileExists(atPath: String(path)))
        #expect(try home.run("keychainctl get note").output == "tiger")
    }

    @Test func `the names of a locked keychain are asked of nobody`() throws {
        let home = try home("printf tiger | keychainctl set note")
        let engine = try KeychainEngine.open(
            directory: home.path + "/.local/share/keychain", options: .testing)
        try engine.setPasscode(SecretBytes(copying: Array("1234".utf8)))
        engine.close()
        let dialogue = try Dialogue(home, "---names")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown.isEmpty)
    }
}
