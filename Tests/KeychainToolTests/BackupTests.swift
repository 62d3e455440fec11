// Backups exchanged with the program `age`, restores at a terminal, and processes that are killed.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Testing

@testable import KeychainTool

@Suite struct `Backups` {
    private static let age = "/usr/bin/age"

    private func run(_ home: TestHome, _ command: String) throws -> String {
        let outcome = try home.run(command)
        try #require(outcome.ending == .exit(0), "\(command): \(outcome.errors)")
        return outcome.output
    }

    private func directory(_ home: TestHome, _ name: String) -> String {
        home.path + "/" + name
    }

    /// Fills a keychain with `count` items, whose accounts are their numbers.
    private func fill(_ home: TestHome, _ name: String, _ count: Int) throws {
        let engine = try KeychainEngine.open(
            directory: directory(home, name), options: .testing)
        defer { engine.close() }
        for start in stride(from: 0, to: count, by: 500) {
            _ = try engine.perform(
                AddItems(
                    (start..<min(start + 500, count)).map {
                        NewItem(
                            itemClass: .genericPassword,
                            attributes: [.account: .string("\($0)"), .service: .string("s")],
                            data: Data("secret \($0)".utf8))
                    }), as: AccessGroups(["default"]))
        }
    }

    @Test func `no partial file remains if another file took the backup's name meanwhile`() throws {
        let home = try TestHome()
        let path = directory(home, "backup.age")
        let file = try BackupFile(path, replaces: false)
        try Data().write(to: URL(filePath: path))
        #expect(throws: ControlFailure.self) { try file.commit() }
        #expect(Files.status(ofLink: path + ".part") == nil)
    }

    /// Checks a keychain.
    /// - Returns: The number of its items.
    private func count(_ home: TestHome, _ name: String) throws -> UInt64 {
        let engine = try KeychainEngine.open(
            directory: directory(home, name), options: .testing)
        defer { engine.close() }
        #expect(try engine.check().isSound)
        return try engine.status().itemCount
    }

    private func makeKeys(_ home: TestHome) throws {
        _ = try run(home, "age-keygen -o id; age-keygen -y id >to")
    }

    // MARK: age

    @Test
    func `age can decrypt a backup for a public key, and files encrypted by age can be restored`()
        throws
    {
        let home = try TestHome()
        try makeKeys(home)
        // A backup of 700 items has several chunks of the age format.
        try fill(home, "one", 700)
        _ = try run(
            home, "KEYCHAIN_DIRECTORY=~/one keychainctl backup --recipients-file to b.age")
        #expect(try run(home, "stat -c %a b.age") == "600\n")
        let lines = try run(home, "age -d -i id b.age").split(separator: "\n")
        #expect(lines.count == 702)
        #expect(lines.last == #"{"end":{"deviceItems":0,"items":700,"leftOut":0}}"#)
        _ = try run(
            home,
            "age -d -i id b.age | age -e -R to >again.age; "
                + "KEYCHAIN_DIRECTORY=~/two keychainctl restore --backup again.age -i id --yes")
        #expect(try count(home, "two") == 700)
        #expect(
            try run(home, "KEYCHAIN_DIRECTORY=~/two keychainctl get -s s -a 699") == "secret 699")
    }

    @Test func `a recipients file of more than 1 MiB is refused, and no backup is made`() throws {
        let home = try TestHome()
        try makeKeys(home)
        try fill(home, "one", 1)
        _ = try run(home, "cp to big; head -c 1048577 /dev/zero | tr '\\0' '\\n' >>big")
        let result = try home.run(
            "KEYCHAIN_DIRECTORY=~/one keychainctl backup --recipients-file big b.age")
        #expect(result.ending == .exit(1))
        #expect(result.errors.contains("Can't read big: File too large."))
        #expect(try run(home, "ls b.age 2>/dev/null || echo none") == "none\n")
    }

    @Test func `backups encrypted with a passphrase can be exchanged with age`() throws {
        let home = try TestHome()
        try fill(home, "one", 3)
        let variables = ["KEYCHAIN_DIRECTORY": directory(home, "one")]
        let file = home.path + "/b.age"
        let writing = try Dialogue(home, "backup", file, variables: variables)
        for prompt in ["Backup passphrase: ", "Backup passphrase again: "] {
            try writing.expect(prompt)
            #expect(!writing.isEchoing)
            try writing.type("correct horse\r")
        }
        #expect(try writing.end() == .exit(0), "\(writing.shown)")
        let text = home.path + "/text"
        let opening = try Dialogue(
            home, program: Self.age, ["-d", "-o", text, file])
        try opening.expect("passphrase: ")
        try opening.type("correct horse\r")
        #expect(try opening.end() == .exit(0), "\(opening.shown)")
        let sealed = home.path + "/again.age"
        let sealing = try Dialogue(
            home, program: Self.age, ["-p", "-o", sealed, text])
        for prompt in ["secure one): ", "passphrase: "] {
            try sealing.expect(prompt)
            try sealing.type("battery staple\r")
        }
        #expect(try sealing.end() == .exit(0), "\(sealing.shown)")
        let reading = try Dialogue(home, "check", "--backup", sealed, variables: variables)
        try reading.expect("Backup passphrase: ")
        try reading.type("battery staple\r")
        try reading.expect("The backup is intact.")
        #expect(try reading.end() == .exit(0))
    }

    // MARK: At a terminal

    @Test func `restore lists the changes and waits for confirmation`() throws {
        let home = try TestHome()
        try makeKeys(home)
        try fill(home, "one", 30)
        _ = try run(home, "KEYCHAIN_DIRECTORY=~/one keychainctl backup -r $(cat to) b.age")
        try fill(home, "two", 1)
        _ = try run(home, "printf x | KEYCHAIN_DIRECTORY=~/two keychainctl set -s new")
        func dialogue(_ answer: String) throws -> Ending {
            let dialogue = try Dialogue(
                home, "restore", "--backup", home.path + "/b.age", "-i", home.path + "/id",
                "--replace", variables: ["KEYCHAIN_DIRECTORY": directory(home, "two")])
            try dialogue.expect("29 items would be added.")
            try dialogue.expect("  and 9 more, which --json lists")
            try dialogue.expect("1 item would be deleted.\n  generic  new")
            try dialogue.expect("Type “replace 1” to continue: ")
            try dialogue.type(answer + "\r")
            return try dialogue.end()
        }
        #expect(try dialogue("yes") == .exit(1))
        #expect(try count(home, "two") == 2)
        #expect(try dialogue("replace 1") == .exit(0))
        #expect(try count(home, "two") == 30)
    }

    // MARK: systemd units

    @Test func `the service of the backup timer makes a backup without a prompt`() throws {
        let home = try TestHome()
        try makeKeys(home)
        _ = try run(
            home,
            "printf x | keychainctl set -s mail; mkdir -p .config/keychain state; "
                + "(echo '# to'; cat to) >.config/keychain/backup-recipients")
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Distribution/systemd/user")
        let unit = try String(
            contentsOf: folder.appending(path: "keychain-backup.service"), encoding: .utf8)
        let line = try #require(
            unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        let command = line.dropFirst("ExecStart=".count)
            .replacing("/usr/local/bin/", with: "").replacing("%E", with: "~/.config")
        for _ in 0..<2 {
            #expect(
                try run(home, "STATE_DIRECTORY=~/state; \(command)").hasSuffix(": 1 item.\n"))
        }
        _ = try run(home, "keychainctl check --backup state/keychain.age -i id")
        let timer = try String(
            contentsOf: folder.appending(path: "keychain-backup.timer"), encoding: .utf8)
        #expect(timer.contains("\nPersistent=yes\n") && timer.contains("\nOnCalendar=daily\n"))
    }

    // MARK: Killed processes

    @Test func `a backup that is killed doesn't change the previous backup file`() throws {
        let home = try TestHome()
        try makeKeys(home)
        try fill(home, "one", 2000)
        let command = "KEYCHAIN_DIRECTORY=~/one keychainctl backup -r $(cat to) --overwrite b.age"
        _ = try run(home, command)
        let before = try run(home, "sha256sum b.age")
        // A backup without --overwrite first links the complete file to its final name, and then
        // removes the name with `.part`. If it is killed in between, the file keeps both names.
        _ = try run(home, "ln b.age b.age.part")
        let recipient = try run(home, "cat to").trimmingCharacters(in: .newlines)
        for shown in ["backed up 0 of", "backed up 800 of", "backed up 1500 of"] {
            let dialogue = try Dialogue(
                home, "backup", "-r", recipient, "--overwrite", home.path + "/b.age",
                variables: ["KEYCHAIN_DIRECTORY": directory(home, "one")])
            try dialogue.expect(shown)
            kill(dialogue.process, SIGKILL)
            #expect(try dialogue.end() == .signal(SIGKILL))
            #expect(try run(home, "sha256sum b.age") == before)
            // The partial file that the killed backup left can't be decrypted.
            #expect(try home.run("age -d -i id b.age.part").ending != .exit(0))
        }
        _ = try run(home, command)
        #expect(try run(home, "sha256sum b.age") != before)
        #expect(try run(home, "ls") == "b.age\nid\none\nto\n")
        _ = try run(home, "keychainctl check --backup b.age -i id")
    }

    @Test(arguments: [false, true])
    func `a killed restore has changed nothing and can be repeated`(
        _ replaces: Bool
    ) throws {
        let home = try TestHome()
        try makeKeys(home)
        try fill(home, "one", 2000)
        _ = try run(home, "KEYCHAIN_DIRECTORY=~/one keychainctl backup -r $(cat to) b.age")
        _ = try run(home, "printf x | KEYCHAIN_DIRECTORY=~/two keychainctl set -s new")
        let mode = replaces ? "--replace" : "--json"
        for shown in [
            "compared 1000 of", "processed 0 of", "processed 1000 of", "processed 1500 of",
        ] {
            let dialogue = try Dialogue(
                home, "restore", "--backup", home.path + "/b.age", "-i", home.path + "/id",
                "--yes", mode, variables: ["KEYCHAIN_DIRECTORY": directory(home, "two")])
            try dialogue.expect(shown)
            kill(dialogue.process, SIGKILL)
            #expect(try dialogue.end() == .signal(SIGKILL))
            #expect(try count(home, "two") == 1, "\(shown)")
        }
        let command =
            "KEYCHAIN_DIRECTORY=~/two keychainctl restore --backup b.age -i id --yes"
            + (replaces ? " --replace" : "")
        _ = try run(home, command)
        #expect(try count(home, "two") == (replaces ? 2000 : 2001))
        // A second restore has nothing to change.
        #expect(
            try run(home, command)
                == "2000 items unchanged: the keychain's version is the same or newer, or can't be "
                + "replaced on this machine.\n")
    }
}
