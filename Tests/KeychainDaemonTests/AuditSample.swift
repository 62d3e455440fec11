// AuditSample: an audit in a temporary folder, and functions that change it as an attacker would.

import Foundation
import KeychainCore
import KeychainCrypto
import Testing

@testable import KeychainDaemon

struct AuditSample {
    let place: TemporaryFolder
    let log = LogLines()
    var limits: AuditLimits

    init(_ limits: AuditLimits = AuditLimits()) throws {
        place = try TemporaryFolder()
        self.limits = limits
    }

    var folder: AuditFolder { AuditFolder(path: place.path + "/audit") }

    /// Starts the service's audit, or continues it if it exists.
    func trail(_ disk: AuditDisk = AuditDisk()) throws -> AuditTrail {
        try AuditTrail(
            folder: folder.path, limits: limits, log: AuditLog(log: log.logger()), disk: disk)
    }

    /// The size of the first file, in bytes.
    func byteCount() throws -> Int64 {
        try #require(Files.status(of: file)).identity.size
    }

    /// Writes the records of a service: its start, `count` requests and, unless the service is
    /// killed, its end.
    func write(_ count: Int, isKilled: Bool = false) throws {
        let trail = try trail()
        for number in 0..<count { try Self.request(trail, "account \(number)") }
        // The files as they are now are what a kill would leave.
        let copy = isKilled ? try snapshot() : nil
        trail.stop()
        if let copy { try restore(copy) }
    }

    static func request(_ trail: AuditTrail, _ identity: String) throws {
        try trail.begin()
        try trail.end(
            AuditRecord(
                user: 1000, process: 4711, identity: identity, operation: "find",
                itemClass: "genp"),
            items: [ItemReference(Bytes16(high: 7, low: 8))], hasRoom: true)
    }

    // MARK: Reading

    func position() throws -> AuditPosition { try #require(try folder.position()) }

    func key() throws -> RecoveryCode {
        try #require(try folder.verificationKey(of: position().chain))
    }

    func verify(
        _ key: RecoveryCode? = nil, expecting expected: AuditWitness? = nil
    ) throws -> AuditVerification {
        try AuditVerification(folder, key: try key ?? self.key(), expecting: expected)
    }

    func findings(expecting expected: AuditWitness? = nil) throws -> [AuditFinding] {
        try verify(expecting: expected).findings
    }

    func records() throws -> [AuditRecord] { try folder.records() }

    // MARK: Changing

    var file: String { get throws { try #require(try folder.files().first).path } }

    /// The lines of a file. Line 0 is the header. In the first file, line n is record n.
    func lines(_ path: String? = nil) throws -> [String] {
        let text = try String(contentsOfFile: path ?? file, encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
    }

    func change(_ body: (inout [String]) throws -> Void) throws {
        var lines = try lines()
        try body(&lines)
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: file))
    }

    /// The content of all files, by name.
    func snapshot() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        var files: [String: Data] = [:]
        for name in names {
            files[name] = try Data(contentsOf: URL(filePath: folder.path + "/" + name))
        }
        return files
    }

    /// Puts the files of a snapshot back and deletes all others.
    func restore(_ files: [String: Data]) throws {
        for name in try snapshot().keys where files[name] == nil {
            try FileManager.default.removeItem(atPath: folder.path + "/" + name)
        }
        for (name, content) in files {
            try content.write(to: URL(filePath: folder.path + "/" + name))
        }
    }

    func write(_ position: AuditPosition) throws {
        try Data(position.encoded.plainBytes).write(to: URL(filePath: folder.anchorPath))
    }
}

extension AuditFolder {
    /// The records of all files, in order.
    func records() throws -> [AuditRecord] {
        try files().flatMap { file in
            try String(contentsOfFile: file.path, encoding: .utf8).split(separator: "\n")
                .dropFirst()
                .compactMap {
                    AuditRecord.parts(of: Array($0.utf8))
                        .flatMap { AuditRecord(encoded: $0.encoded) }
                }
        }
    }
}

extension TestService {
    var auditFolder: AuditFolder { AuditFolder(path: configuration.directory + "/audit") }
}
