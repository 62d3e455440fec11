// TestCertificates: a certificate authority for one test, and certificates that the authority
// signed, all made by OpenSSL.
// `Program` finds and runs the programs that tests need.

#if Synchronization

package import Foundation

/// A program that a test needs is missing, or it failed.
package struct MissingProgram: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Files in PEM, in a folder that the caller removes.
package struct TestCertificates: Sendable {
    package let authority: String
    /// For servers on loopback, and for etcd's peers.
    package let server: String
    package let serverKey: String
    /// Has no common name: if the cluster has users, etcd's gateway rejects certificates that have
    /// a common name.
    package let client: String
    package let clientKey: String

    /// - Throws: ``MissingProgram``.
    package init(folder: URL) throws {
        func path(_ name: String) -> String { folder.appending(path: name).path }
        func make(_ name: String, _ options: [String]) throws {
            _ = try Program.run(
                "openssl", package: "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-keyout", path("\(name).key"), "-out",
                    path("\(name).pem"),
                ] + options)
        }
        let signed = [
            "-CA", path("authority.pem"), "-CAkey", path("authority.key"),
            "-addext", "basicConstraints=CA:FALSE",
        ]
        try make("authority", ["-subj", "/O=authority"])
        try make(
            "server",
            signed + ["-subj", "/O=server", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        try make("client", signed + ["-subj", "/O=client"])
        authority = path("authority.pem")
        (server, serverKey) = (path("server.pem"), path("server.key"))
        (client, clientKey) = (path("client.pem"), path("client.key"))
    }
}

package enum Program {
    /// The path of a program. A name with a slash already is a path, and is returned unchanged.
    ///
    /// - Throws: ``MissingProgram`` if no folder of PATH contains the program. The error names the
    ///   Debian packages to install.
    package static func path(_ name: String, package: String) throws -> String {
        if name.contains("/") { return name }
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        let paths = folders.split(separator: ":").map { "\($0)/\(name)" }
        guard let path = paths.first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw MissingProgram(
                description: "These tests need \(name), which is not installed. On Debian, run: "
                    + "apt-get install \(package)")
        }
        return path
    }

    /// Runs a program to its end.
    ///
    /// - Returns: What it wrote to its output and to its standard error.
    /// - Throws: ``MissingProgram`` if the program is missing or fails; the system's error if it
    ///   can't be started.
    @discardableResult
    package static func run(
        _ name: String, package: String, _ arguments: [String],
        _ environment: [String: String] = [:]
    ) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: try path(name, package: package))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let written = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: written, as: UTF8.self)
        guard process.terminationStatus == 0 else {
            throw MissingProgram(description: "\(name) \(arguments[0]) failed: \(text)")
        }
        return text
    }
}

#endif
