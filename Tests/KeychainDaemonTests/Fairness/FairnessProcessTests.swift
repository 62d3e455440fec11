// FairnessProcessTests: how long an honest program's look-up takes while another program of the
// same user attacks the service. Each test prints the median and worst time without and with the
// attack.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import TestPrograms
import Testing

@testable import KeychainDaemon

@Suite(.serialized) struct `An honest program during an attack by another program` {
    private static func run(
        _ what: String, _ name: String, processes: Int = 1, connections: Int = 1,
        _ service: AttackedService? = nil, limit: Duration = .seconds(2)
    ) throws -> (AttackedService, Attackers) {
        let service = try service ?? AttackedService()
        let alone = Figures(lookUpsIn: service)
        alone.expectFair()
        let attackers = try Attackers(
            name, service, processes: processes, connections: connections)
        let attacked = Figures(lookUpsIn: service)
        attacked.report(what, alone: alone)
        attacked.expectFair(limit)
        return (service, attackers)
    }

    @Test func `look-ups stay fast while another program sends incomplete messages`() throws {
        let (service, attackers) = try Self.run(
            "half messages before the greeting", "half", connections: 1000)
        let memory = try service.memory()
        print("fairness | \(attackers.counts[0]) half messages: the service has \(memory) MiB")
        #expect(memory < 300)
        try attackers.stop()
        service.end()
    }

    @Test func `look-ups stay fast while another program sends incomplete messages of 16 MiB`()
        throws
    {
        let (service, attackers) = try Self.run(
            "half messages of 16 MiB", "large", connections: 200)
        let memory = try service.memory()
        print("fairness | \(attackers.counts[0]) halves of 16 MiB: the service has \(memory) MiB")
        #expect(memory < 400)
        try attackers.stop()
        service.end()
    }

    @Test func `look-ups stay fast while another program holds 600 silent connections`() throws {
        let (service, attackers) = try Self.run(
            "600 silent handshakes", "silent", connections: 600)
        try attackers.stop()
        service.end()
    }

    @Test func `look-ups stay fast while another program holds thousands of idle connections`()
        throws
    {
        let (service, attackers) = try Self.run(
            "idle connections", "idle", connections: 5000)
        print("fairness | idle connections that the attacker got: \(attackers.counts[0])")
        try attackers.stop()
        service.end()
    }

    @Test func `look-ups stay fast while 25 processes search without a pause`() throws {
        let (service, attackers) = try Self.run(
            "25 processes that search", "find", processes: 25)
        try attackers.stop()
        service.end()
    }

    @Test func `look-ups stay fast while 25 processes try passcodes`() throws {
        let service = try AttackedService()
        let passcode = SecretBytes(copying: Array("passcode".utf8))
        try service.client().perform(SetPasscode(passcode, allowsWeak: true))
        let unlock = {
            _ = try service.client().perform(Unlock(passcode: passcode), as: AccessGroups([]))
        }
        let alone = Figures(count: 3, unlock)
        let lookUpsAlone = Figures(lookUpsIn: service)
        let attackers = try Attackers("unlock", service, processes: 25)
        let unlocks = Figures(count: 3, unlock)
        unlocks.report("25 processes that unlock: an unlock", alone: alone)
        let lookUps = Figures(lookUpsIn: service, count: 100)
        lookUps.report("25 processes that unlock: a look-up", alone: lookUpsAlone)
        // An unlock takes a second or two, and may have to wait until an attacker's unlock ends.
        // Other tests can slow both unlocks down. Without a fair order, an unlock took most of a
        // minute.
        unlocks.expectFair(.seconds(25))
        lookUps.expectFair()
        try attackers.stop()
    }

    @Test func `look-ups stay fast while the whole keychain is checked again and again`() throws {
        let service = try AttackedService()
        for number in 0..<200 { try service.add("large \(number)", byteCount: 100_000) }
        let (_, attackers) = try Self.run(
            "checks on 16 connections", "check", connections: 16, service,
            limit: .seconds(1))
        // The service is killed, because an orderly end would wait for the checks.
        service.program.kill()
        try attackers.stop()
    }

    @Test func `look-ups stay fast while the service hashes an executable of 60 GiB`() throws {
        let service = try AttackedService()
        let original = try #require(TestProgram.path(of: "service-peer"))
        let huge = service.folder.path + "/huge"
        try FileManager.default.copyItem(atPath: original, toPath: huge)
        try #require(unsafe truncate(huge, 60 << 30) == 0)
        _ = try RegistryFolder(path: service.folder.path + "/programs").put(
            .executable(huge), sha256: String(repeating: "0", count: 64),
            list: Entitlements.propertyList(groups: ["huge"]))
        let alone = Figures(lookUpsIn: service)
        let attackers = try Attackers("knock", service, processes: 5, as: huge)
        let attacked = Figures(lookUpsIn: service)
        attacked.report("an executable of 60 GiB", alone: alone)
        attacked.expectFair()
        try attackers.stop()
    }

    @Test
    func `look-ups stay fast and the log stays short while another program is always refused`()
        throws
    {
        let (service, attackers) = try Self.run("a flood of refusals", "refused", processes: 2)
        // Each attacker prints "sent" and the number of its wrong answers.
        let counts = try attackers.stop().map {
            $0.split(separator: " ").last.flatMap { Int($0) } ?? 0
        }
        let answers = counts.reduce(0, +)
        service.end()
        let lines = try service.log().count
        print("fairness | \(answers) wrong answers, and \(lines) lines in the log")
        #expect(answers > 200)
        #expect(lines < 100)
    }

    @Test func `look-ups stay fast while another program fills a log that has no reader`() throws {
        let folder = try TemporaryFolder()
        let errors = folder.path + "/errors"
        try #require(unsafe mkfifo(errors, 0o600) == 0)
        // The pipe is opened for reading and writing, so that no process blocks while it opens the
        // pipe.
        let pipe = try #require(Files.open(errors, O_RDWR))
        let service = try AttackedService(folder: folder, errors: errors, level: "info")
        let alone = Figures(lookUpsIn: service, count: 20)
        let attackers = try Attackers("refused", service, waits: false)
        let flood = try Attackers("find", service, waits: false)
        // These look-ups alone log more than the 64 KiB that fit into a pipe.
        let attacked = Figures(count: 800, within: .seconds(3)) {
            let found = try service.client().load("n", as: AccessGroups(["default"]))
            #expect(found == "x")
        }
        attacked.report("a log that has no reader", alone: alone)
        attacked.expectFair()
        try attackers.stop()
        try flood.stop()
        service.program.send(SIGTERM)
        try eventually("the service ends although its log is full") { !service.program.isRunning }
        #expect(service.program.endedWell)
        pipe.close()
    }
}
