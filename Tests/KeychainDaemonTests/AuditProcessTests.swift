// AuditProcessTests: the audit of a service that is killed while it writes, the audit of a service
// on a full disk, and how the log and the audit show a program with a hostile name.

import Foundation
import KeychainCore
import KeychainCrypto
import TestPrograms
import Testing

@testable import KeychainDaemon

@Suite(.serialized) struct `The audit of a process` {
    @Test
    func `a kill during writing loses no acknowledged record and is not reported as an attack`()
        throws
    {
        let folder = try TemporaryFolder()
        let audit = AuditFolder(path: folder.path + "/keychain/audit")
        var acknowledged = 0
        for round in 0..<5 {
            let service = try ServiceProcess(in: folder)
            let writers = try (0..<8).map { try peer("write", service.socket, "\(8 * round + $0)") }
            for writer in writers {
                for _ in 0..<5 {
                    if writer.line()?.hasPrefix("worker") == true { acknowledged += 1 }
                }
            }
            service.kill(SIGKILL)
            for writer in writers {
                acknowledged += writer.lines().count { $0.hasPrefix("worker") }
            }
            service.waitForEnd()
            let position = try #require(try audit.position())
            let key = try #require(try audit.verificationKey(of: position.chain))
            #expect(try AuditVerification(audit, key: key).findings.isEmpty, "round \(round)")
        }
        var recorded = 0
        for file in try audit.files() {
            let lines = try String(contentsOfFile: file.path, encoding: .utf8)
            recorded += lines.split(separator: "\n").count { $0.contains(" add genp 0 ") }
        }
        #expect(acknowledged >= 40)
        #expect(recorded >= acknowledged)
    }

    @Test func `on a full disk, requests that can't be recorded fail until there is space again`()
        throws
    {
        let folder = try TemporaryFolder()
        // A user who isn't root becomes root in a user namespace.
        let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        let script = """
            mount -t tmpfs -o size=8m,mode=700 none "$place"
            "$keychaind" --directory "$place/keychain" --socket "$place/run/socket" \
                --registry "$place/programs" --log-level critical &
            service=$!
            until [ -S "$place/run/socket" ]; do sleep 0.05; done
            export KEYCHAIN_SERVICE="$place/run/socket"
            "$peer" use add:n load:n
            head -c 16m /dev/zero >"$place/ballast" 2>/dev/null || :
            "$peer" use $(yes load:n | head -n 3000) | uniq -c | sed 's/^ *//'
            "$peer" use load:n add:m
            rm "$place/ballast"
            echo again
            "$peer" use load:n add:m
            kill $service
            wait $service
            "$keychainctl" audit --verify --folder "$place/keychain/audit" 2>/dev/null
            "$keychainctl" audit --operation audit-resume --folder "$place/keychain/audit" --json
            """
        var environment = ["place": folder.path]
        for (name, program) in [
            ("keychaind", "keychaind"), ("keychainctl", "keychainctl"), ("peer", "service-peer"),
        ] {
            let path = try #require(TestProgram.path(of: program))
            environment[name] = path
        }
        let child = try TestProgram(
            path: "/usr/bin/env", ["unshare", "--mount"] + user + ["sh", "-ec", script],
            environment: environment)
        let lines = child.lines()
        try #require(child.endedWell, "\(lines)")
        let full = Status.diskFull.rawValue
        #expect(lines[..<2] == ["add:n 0", "load:n x"])
        // Requests succeed while the reserved space lasts. Afterwards they all fail.
        try #require(lines.count > 8, "\(lines)")
        let given = try #require(Int(lines[2].split(separator: " ")[0]))
        #expect(lines[2].hasSuffix(" load:n x") && given < 2900)
        #expect(lines[3] == "\(3000 - given) load:n \(full)")
        #expect(
            lines[4..<9] == ["load:n \(full)", "add:m \(full)", "again", "load:n x", "add:m 0"])
        #expect(lines[9].hasSuffix(" records verified, all unaltered."))
        let json =
            try JSONSerialization.jsonObject(
                with: Data(lines[11...].joined().utf8)) as? [[String: Any]]
        // The refused requests are those counted above, the handshake of the last program while the
        // disk was full, and that program's two requests.
        #expect(json?.count == 1)
        #expect(json?.first?["result"] as? Int == 3000 - given + 3)
        print("full disk: \(given) requests had room, \(3000 - given) were refused")
    }

    @Test
    func `control characters in a program's name can't end its field in the log or the audit`()
        throws
    {
        let service = try TestService()
        let original = try #require(TestProgram.path(of: "service-peer"))
        let path = original + "\ninfo forged uid=0 \u{9B}\u{202E}\" x=\""
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.linkItem(atPath: original, toPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try peer("ask", service.configuration.socket, as: path).lines().count == 2)
        service.stop()
        let lines = service.log.all.filter { $0.contains("forged") }
        #expect(lines.count >= 3)
        for line in lines {
            #expect(!line.dropLast().unicodeScalars.contains { $0.isUnsafeInLine }, "\(line)")
            #expect(
                line.contains(
                    "executable=\"\(original)\\u{a}info forged uid=0 \\u{9b}\\u{202e}\\\" x=\\\"\"")
            )
        }
        let audit = try String(
            contentsOfFile: AuditFolder(path: service.configuration.directory + "/audit").files()[0]
                .path, encoding: .utf8)
        #expect(audit.utf8.allSatisfy { $0 == 10 || (0x20...0x7E).contains($0) })
        #expect(!audit.contains("forged uid"))
    }
}
