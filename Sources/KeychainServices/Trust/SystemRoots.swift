// SystemRoots: the certificate authorities that the system trusts.
//   (1) The system's file of certificates is read when an evaluation first needs it, and again
//       after the file has changed. If it can't be read, the next evaluation tries again.
//   (2) PEM blocks that are malformed or don't contain a readable certificate are skipped.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
internal import Synchronization

/// A PEM file of trusted certificates.
final class SystemRoots: Sendable {
    /// The certificates of this system. Each distribution named below has the file at the location
    /// beside its name.
    static let shared = SystemRoots(paths: [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine, Gentoo
        "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",  // openSUSE
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // CentOS, RHEL
        "/etc/ssl/cert.pem",  // Alpine, Void
    ])

    private struct Reading {
        let path: String
        let modified: Date?
        let certificates: [SecCertificate]
        let index: SubjectIndex
    }

    private let paths: [String]
    private let reading = Mutex<Reading?>(nil)

    /// - Parameter paths: The paths to search. The first file that exists is used.
    init(paths: [String]) {
        self.paths = paths
    }

    /// The certificates, by subject. Empty if there is no file or it can't be read.
    var index: SubjectIndex { current?.index ?? SubjectIndex() }

    /// The certificates, in the order of the file.
    var certificates: [SecCertificate] { current?.certificates ?? [] }

    private var current: Reading? {
        guard let path = paths.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            return nil
        }
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: URL(filePath: path).resolvingSymlinksInPath().path)
        let modified = attributes?[.modificationDate] as? Date
        return reading.withLock { reading in
            if let known = reading, known.path == path, known.modified == modified {
                return known
            }
            guard let certificates = Self.read(path) else { return nil }
            let read = Reading(
                path: path, modified: modified, certificates: certificates,
                index: SubjectIndex(certificates))
            reading = read
            return read
        }
    }

    private static func read(_ path: String) -> [SecCertificate]? {
        guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
        // Each block is parsed alone, so that a malformed one doesn't affect the others.
        let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
        return String(decoding: bytes, as: UTF8.self).components(separatedBy: begin).dropFirst()
            .compactMap { rest in
                guard let last = rest.range(of: end),
                    let document = try? PEMDocument(pemString: begin + rest[..<last.upperBound])
                else { return nil }
                return SecCertificate(der: Data(document.derBytes))
            }
    }
}

#endif
