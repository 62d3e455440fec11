// LogForgeryTests: paths and names that try to forge fields or lines of the log.

import Foundation
import KeychainCore
import Logging
import Testing

@testable import KeychainDaemon

/// Paths that contain or imitate the syntax of the log, and paths that are displayed misleadingly.
private let hostile = [
    "/a b\n\"c\"", "/app\" uid=0 executable=\"/usr/bin/login", "/app uid=0", "uid=0", "",
    "/a\r\u{1B}[2J\u{1B}]0;title\u{7}", "/\u{9B}31m\u{85}\u{90}", "/a\u{7F}\u{0}b",
    "/a\u{2028}b\u{2029}c", "/\u{202E}nib/\u{2066}a\u{2069}\u{202A}", "/\u{200E}\u{200F}\u{61C}",
    "/a\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}\u{AD}b", "/\u{E0041}\u{E0100}\u{FE0F}\u{3164}",
    "/\u{FFF9}\u{E000}\u{1D173}", "/back\\slash\\u{a}", "/\"\u{301} uid=0", "/gr\u{FC}n/\u{1F600}",
]

@Suite struct `Forging lines of the log` {
    /// The text that a quoted field stands for.
    private func unquoted(_ field: Substring) throws -> String {
        var rest = field.unicodeScalars
        #expect(rest.popFirst() == "\"")
        var text = ""
        while let scalar = rest.popFirst() {
            if scalar == "\"" {
                #expect(rest.isEmpty, "the field goes on after its closing quotation mark")
                return text
            }
            guard scalar == "\\" else {
                text.unicodeScalars.append(scalar)
                continue
            }
            let escape = try #require(rest.first)
            rest = rest.dropFirst()
            guard escape == "u" else {
                text.unicodeScalars.append(escape)
                continue
            }
            let digits = String(rest.dropFirst().prefix { $0 != "}" })
            let number = try #require(UInt32(digits, radix: 16))
            text.unicodeScalars.append(try #require(Unicode.Scalar(number)))
            rest = rest.dropFirst(digits.count + 2)
        }
        Issue.record("the field has no end")
        return text
    }

    private func isPlain(_ line: String) -> Bool {
        !line.dropLast().unicodeScalars.contains { $0.isUnsafeInLine } && line.hasSuffix("\n")
    }

    @Test(arguments: hostile)
    func `a path is a single quoted field, in the text and the JSON format`(_ path: String) throws {
        for format in LogLineFormat.allCases {
            let log = LogLines()
            log.logger(format).info("one\ntwo", metadata: ["executable": "\(path)"])
            let line = try #require(log.all.first)
            #expect(log.all.count == 1)
            #expect(isPlain(line), "\(line)")
            switch format {
            case .text:
                let start = "info one\\u{a}two executable="
                #expect(line.hasPrefix(start))
                #expect(
                    Array(try unquoted(line.dropFirst(start.count).dropLast()).utf8)
                        == Array(path.utf8))
            case .json:
                let fields = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
                #expect(fields["executable"].map { Array($0.utf8) } == Array(path.utf8))
                #expect(fields["message"] == "one\ntwo")
            }
        }
    }

    @Test(arguments: hostile)
    func `every log line about a peer quotes its path`(_ path: String) throws {
        let log = LogLines()
        let audit = AuditLog(log: log.logger())
        let peer = PeerName(pid: 7, uid: 8, identity: .account(command: path, unit: nil))
        audit.connected(peer)
        audit.request("find", "genp acct", of: peer, status: .itemNotFound, duration: .zero)
        audit.withoutAccess(peer, "it is \(quoted(path))")
        audit.broken(peer, path)
        audit.refused(.replacedExecutable(pid: 7, path: path), 7)
        audit.refused(.changedExecutable(pid: 7, first: path, second: path), 7)
        audit.refused(.unreadableExecutable(pid: 7, reason: path), 7)
        audit.problem("registry", reason: path)
        audit.disconnected(peer)
        #expect(log.all.count == 9)
        for line in log.all {
            #expect(isPlain(line), "\(line)")
            // Outside quotation marks there are only words that the service writes itself.
            var outside = ""
            var isInside = false
            var isEscaped = false
            for scalar in line.dropLast().unicodeScalars {
                if isEscaped {
                    isEscaped = false
                } else if scalar == "\\" {
                    isEscaped = true
                } else if scalar == "\"" {
                    isInside.toggle()
                } else if !isInside {
                    outside.unicodeScalars.append(scalar)
                }
            }
            #expect(!isInside)
            #expect(
                outside.wholeMatch(
                    of:
                        /(debug|info|warning|error) [a-z ]+( (query|command|reason)=| (status|microseconds|pid|uid)=-?\d+)*/
                ) != nil, "\(outside)")
        }
    }

    @Test func `a refusal quotes the paths of the program and of the registry`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.put("p", "a\nerror forged")
        _ = try folder.put("nothing", "a\nerror forged.entitlements")
        let registry = ProgramRegistry(folder: folder.path + "/b\nerror forged")
        let program = try #require(Executable(at: path))
        let beside = #expect(throws: KeychainFailure.self) {
            try EntitlementRules(registry: registry, isRegistryOnly: false, keychainctl: nil)
                .entitlements(of: program)
        }
        #expect(beside?.reason.contains("gives \(quoted(path)) no access") == true)
        #expect(beside?.reason.contains("\n") == false)
        let unnamed = #expect(throws: KeychainFailure.self) {
            try EntitlementRules(registry: registry, isRegistryOnly: true, keychainctl: nil)
                .rights(of: Peer(pid: 1, uid: geteuid(), identity: .sandbox("snap:a")))
        }
        #expect(unnamed?.reason.contains("registry, \(quoted(registry.folder)), doesn't") == true)
    }

    @Test func `a registry file's hostile name can't begin a new line of the log`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("programs")
        _ = try folder.put("nothing", "programs/a\nerror forged uid=0\u{202E}\".json")
        let service = try TestService(folder: folder)
        #expect(status { _ = try service.client().perform(HasPasscode()) } == .missingEntitlement)
        service.stop()
        let lines = service.log.all.filter { $0.contains("forged") }
        #expect(lines.count >= 2)
        for line in lines {
            #expect(isPlain(line), "\(line)")
            #expect(
                line.hasPrefix("error registry reason=\"") || line.hasPrefix("warning no access "))
        }
    }
}
