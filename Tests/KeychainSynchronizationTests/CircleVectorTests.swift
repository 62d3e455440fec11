// The vectors of Documentation/Synchronization.md.

import FormatVectors
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSQLite
import KeychainSynchronization
import Testing

@Suite struct CircleVectorTests {
    /// What a machine has read.
    private struct Reading {
        var circle: Circle
        var items: [Bytes16: SynchronizedItem] = [:]

        mutating func store(_ changes: [Replica.Change]) {
            for change in changes {
                switch change {
                case .store(let item): items[item.name] = item
                case .delete(let name): items[name] = nil
                }
            }
        }
    }

    @Test func `circles are read as in the vectors`() throws {
        let file = try VectorFile<CircleVector>.read("circle-v1")
        for test in file.tests {
            guard test.result == .valid else {
                #expect(throws: SynchronizationFailure.self, "test \(test.tcId)") {
                    try read(test)
                }
                continue
            }
            let reading = try read(test)
            let circle = reading.circle
            #expect(Hex(circle.id.digest.bytes) == test.circle, "test \(test.tcId)")
            #expect(
                circle.roster.members.map { Hex($0.bytes) } == test.members, "test \(test.tcId)")
            #expect(circle.roster.epoch == test.epoch, "test \(test.tcId)")
            let versions = reading.items.values.filter { !$0.record.isTombstone }
                .map { Hex($0.encoded()) }.sorted { $0.digits < $1.digits }
            #expect(versions == test.versions, "test \(test.tcId)")
        }
        #expect(file.tests.count == 11)
    }

    private func read(_ test: CircleVector) throws -> Reading {
        let entries = try test.membership.map { bytes in
            let entry = try MembershipEntry(decoding: bytes.bytes)
            #expect(Hex(entry.bytes) == bytes)
            return entry
        }
        var circle = try Circle(founding: try #require(entries.first))
        for entry in entries.dropFirst() { try circle.append(entry) }
        for bytes in test.heads { try SignedHead(decoding: bytes.bytes).verify(in: circle) }
        var replica = Replica(try keys(test, try #require(entries.first)), circle)
        var reading = Reading(circle: circle)
        let logs = try test.logs.map { log in
            try log.map { bytes in
                let entry = try LogEntry(decoding: bytes.bytes)
                #expect(Hex(entry.bytes) == bytes)
                return entry
            }
        }
        // A replica takes its own log only before all others.
        for entry in logs.joined().filter({ $0.frame.writer == replica.id }) {
            reading.store(try replica.restore(entry))
        }
        for entry in logs.joined().filter({ $0.frame.writer != replica.id }) {
            reading.store(try replica.take(entry))
        }
        reading.store(replica.settle())
        return reading
    }

    private func keys(_ test: CircleVector, _ founding: MembershipEntry) throws -> MachineKeys {
        if let code = test.recoveryCode, case .found(let content) = founding.change {
            return MachineKeys(RecoveryCode(bytes: code.secret), salt: content.salt)
        }
        let signer = try #require(SoftwareSigner(privateKey: test.signingKey.secret))
        return try #require(
            MachineKeys(signer: signer, agreementSeed: test.agreementSeed.secret))
    }
}
