// Dialogues at a terminal about one-time codes, editors, completion, `security` and `setup`.

import Foundation
import Glibc
import KeychainCore
import KeychainEngine
import Testing

@Suite struct `Further commands at a terminal` {
    private func home(_ command: String) throws -> TestHome {
        let home = try TestHome()
        let outcome = try home.run(command)
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        return home
    }

    @Test func `a one-time code is shown with its remaining time`() throws {
        let home = try home("printf MFRGGZDFMZTWQ2LK | keychainctl otp set web")
        let dialogue = try Dialogue(home, "otp", "web")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown.wholeMatch(of: /\d{6}  \(\d+ seconds? left\)\n/) != nil)
    }

    @Test func `Control-C at the prompt for a key stores nothing`() throws {
        let home = try home(":")
        let dialogue = try Dialogue(home, "otp", "set", "web")
        try dialogue.expect("otpauth: URI or Base32 key: ")
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
        try dialogue.expect("The editor exited with status 130. Nothing was changed.")
        #expect(try dialogue.end() == .exit(1))
        #expect(!FileManager.default.fileExists(atPath: String(path)))
        #expect(try home.run("keychainctl get note").output == "tiger")
    }

    @Test func `completing the names of a locked keychain never prompts`() throws {
        let home = try home("printf tiger | keychainctl set note")
        let engine = try KeychainEngine.open(
            directory: home.path + "/.local/share/keychain", options: .testing)
        try engine.setPasscode(SecretBytes(copying: Array("1234".utf8)))
        engine.close()
        let dialogue = try Dialogue(home, "---names")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown.isEmpty)
    }

    @Test func `the security command requests a password twice, and again if the entries differ`()
        throws
    {
        let home = try home(":")
        let dialogue = try Dialogue(
            home, "helper", "security", "add-generic-password", "-s", "db", "-a", "ada", "-w")
        for (first, second) in [("one", "two"), ("tiger", "tiger")] {
            try dialogue.expect("password data for new item: ")
            #expect(!dialogue.isEchoing)
            try dialogue.type(first + "\r")
            try dialogue.expect("retype password for new item: ")
            try dialogue.type(second + "\r")
        }
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown.contains("passwords don't match"))
        #expect(!dialogue.shown.contains("tiger"))
        #expect(try home.run("keychainctl get db/ada").output == "tiger")
    }

    @Test
    func `for a locked item, the security command prompts at a terminal and otherwise reports it`()
        throws
    {
        let home = try home("printf tiger | keychainctl set db/ada")
        let engine = try KeychainEngine.open(
            directory: home.path + "/.local/share/keychain", options: .testing)
        try engine.setPasscode(SecretBytes(copying: Array("1234".utf8)))
        engine.close()
        let command = "keychainctl helper security find-generic-password -s db -w"
        let outcome = try home.run(command)
        #expect(outcome.ending == .exit(36))
        #expect(outcome.output.isEmpty)
        #expect(
            outcome.errors
                == "security: SecKeychainItemCopyContent: User interaction is not allowed.\n")
        let dialogue = try Dialogue(
            home, "helper", "security", "find-generic-password", "-s", "db", "-w")
        try dialogue.expect("Passcode of the keychain: ")
        try dialogue.type("1234\r")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown.hasSuffix("tiger\n"))
    }

    @Test
    func `setup asks for confirmation, and keeps changes that another program made meanwhile`()
        throws
    {
        let home = try home("mkdir .aws && printf '[default]\\nregion = x\\n' >.aws/config")
        for (answer, addition, status) in [("no", "", 1), ("yes", "[a]\\n", 1), ("yes", "", 0)] {
            let dialogue = try Dialogue(home, "setup", "aws", "build")
            try dialogue.expect("Type “yes” to continue: ")
            try #require(try home.run("printf '\(addition)' >>.aws/config").ending == .exit(0))
            try dialogue.type(answer + "\r")
            #expect(try dialogue.end() == .exit(Int32(status)))
            #expect(dialogue.shown.contains("in the meantime") == !addition.isEmpty)
            #expect(try home.run("grep -c process .aws/config").output == "\(1 - status)\n")
        }
        #expect(try home.run("ls .aws").output == "config\n")
    }
}
