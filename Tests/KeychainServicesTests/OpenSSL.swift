// OpenSSL: runs the command-line tool `openssl` in a temporary folder. Tests make keys,
// certificates and PKCS #12 files with it, and check that it can read what this package writes.

import Foundation
import Synchronization

/// The folder in which OpenSSL runs, with the files of one test. `deinit` deletes the folder.
final class OpenSSL: Sendable {
    /// OpenSSL was not found or failed.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "openssl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Runs OpenSSL in a new folder, for commands that need no files.
    @discardableResult
    static func run(_ arguments: [String], input: Data = Data()) throws -> Data {
        try OpenSSL().run(arguments, input: input)
    }

    /// Runs OpenSSL in the folder. File names among the arguments are relative to the folder.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after `openssl`.
    ///   - input: The standard input.
    /// - Returns: The standard output.
    /// - Throws: ``Failure`` with the standard error if the exit status is not 0.
    @discardableResult
    func run(_ arguments: [String], input: Data = Data()) throws -> Data {
        let (status, output, complaint) = try runUnchecked(arguments, input: input)
        guard status == 0 else {
            throw Failure(
                description: "openssl \(arguments.joined(separator: " ")): \(complaint)")
        }
        return output
    }

    private static let madeKeys = Mutex<[[String]: Data]>([:])

    /// Makes a private key as PKCS #8 in PEM. Making an RSA key takes a second, so all tests with
    /// the same arguments and file name share one RSA key.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after `openssl genpkey`.
    ///   - name: The name of the key's file.
    /// - Throws: ``Failure`` with OpenSSL's error.
    func makeKey(_ arguments: [String], to name: String) throws {
        let isSlow = arguments.contains("RSA")
        if isSlow, let made = Self.madeKeys.withLock({ $0[arguments + [name]] }) {
            return try write(made, to: name)
        }
        try run(["genpkey"] + arguments + ["-out", name])
        guard isSlow else { return }
        let made = try contents(of: name)
        Self.madeKeys.withLock { $0[arguments + [name]] = made }
    }

    /// Runs OpenSSL without checking the exit status, for tests that expect a failure.
    ///
    /// - Returns: The exit status, standard output and standard error of OpenSSL.
    func runUnchecked(
        _ arguments: [String], input: Data = Data()
    ) throws -> (status: Int32, output: Data, complaint: String) {
        // The standard streams are files and not pipes, because a full pipe would block OpenSSL and
        // the test.
        let run = UUID().uuidString
        let inputFile = folder.appending(path: "\(run).in")
        let outputFile = folder.appending(path: "\(run).out")
        let complaintFile = folder.appending(path: "\(run).err")
        try input.write(to: inputFile)
        try Data().write(to: outputFile)
        try Data().write(to: complaintFile)
        defer {
            for file in [inputFile, outputFile, complaintFile] {
                try? FileManager.default.removeItem(at: file)
            }
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = folder
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        process.standardError = try FileHandle(forWritingTo: complaintFile)
        try process.run()
        process.waitUntilExit()
        let complaint = String(decoding: try Data(contentsOf: complaintFile), as: UTF8.self)
        return (process.terminationStatus, try Data(contentsOf: outputFile), complaint)
    }

    /// Writes a file into the folder.
    func write(_ bytes: Data, to name: String) throws {
        try bytes.write(to: folder.appending(path: name))
    }

    /// Writes a text file into the folder.
    func write(_ text: String, to name: String) throws {
        try write(Data(text.utf8), to: name)
    }

    /// The bytes of a file in the folder.
    func contents(of name: String) throws -> Data {
        try Data(contentsOf: folder.appending(path: name))
    }
}
