// ArticleTests: the code in an article is the program's code, the article's manifest declares the
// same targets, and the article's console sessions show what the program prints.

import Foundation
import Testing

@Suite struct ArticleTests {
    @Test(arguments: Article.all)
    func `the code in an article consists of the complete files of the program`(_ article: Article)
        throws
    {
        let blocks = try article.code()
        #expect(blocks.count >= 2)
        var rest = try article.files()
        for block in blocks {
            let file = try #require(rest.firstIndex { $0.contains(block) }, "\(block)")
            rest[file] = rest[file].replacing(block, with: "", maxReplacements: 1)
        }
        for file in rest {
            let left = file.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(left.isEmpty, "not in the article")
        }
    }

    /// The article's manifest refers to swift-keychain by URL, and this package's manifest by path.
    /// Targets of this package can have dependencies and aliases that the article doesn't declare.
    @Test(arguments: Article.all)
    func `the manifest in an article declares targets of this package`(_ article: Article) throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try article.manifest().write(
            to: folder.appending(path: "Package.swift"), atomically: true, encoding: .utf8)
        let declared = try Manifest(packageIn: folder).targets
        let own = try Manifest(packageIn: Article.package).targets
        #expect(!declared.isEmpty)
        for target in declared {
            let ours = try #require(own.first { $0.name == target.name }, "\(target.name)")
            #expect(target.type == ours.type)
            for dependency in target.dependencies {
                let our = try #require(
                    ours.dependencies.first { $0.name == dependency.name }, "\(dependency)")
                #expect(dependency.aliases.allSatisfy { our.aliases[$0.key] == $0.value })
            }
        }
    }

    @Test(arguments: Article.all)
    func `the programs print what an article shows`(_ article: Article) throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let build = folder.appending(path: ".build")
        try FileManager.default.createDirectory(at: build, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: build.appending(path: "debug"), withDestinationURL: programs)
        var count = 0
        for session in try article.blocks("console") {
            for step in "\n\(session)\n".components(separatedBy: "\n$ ").dropFirst() {
                let command = step.prefix { $0 != "\n" }
                let output = step.dropFirst(command.count).trimmingCharacters(in: .newlines)
                let printed = try run(["/bin/sh", "-c", String(command)], in: folder)
                #expect(printed == output, "\(command)")
                count += 1
            }
        }
        #expect(count == article.commandCount)
    }
}

/// The folder of the built programs, which also contains the test program.
private let programs = URL(filePath: "/proc/self/exe")
    .resolvingSymlinksInPath().deletingLastPathComponent()

private func temporaryFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory
        .appending(path: "tutorial-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
}

/// Runs a command with a folder as its home and working folder.
///
/// - Returns: The command's standard output, without line breaks at its beginning and end.
private func run(_ command: [String], in folder: URL) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = folder
    process.environment = [
        "HOME": folder.path, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
        // Never use the keychain service or the TPM of the machine that the tests run on.
        "KEYCHAIN_SERVICE": "embedded", "KEYCHAIN_TPM": "none",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let printed = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: printed, as: UTF8.self).trimmingCharacters(in: .newlines)
}

/// A package manifest as SwiftPM reads it.
private struct Manifest {
    struct Dependency {
        var name: String
        var aliases: [String: String] = [:]
    }

    struct Target {
        var name: String
        var type: String
        var dependencies: [Dependency]
    }

    let targets: [Target]

    init(packageIn folder: URL) throws {
        // The scratch folder of the package may be in use.
        let scratch = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: scratch) }
        let json = try run(
            [
                "swift", "package", "dump-package", "--package-path", folder.path,
                "--scratch-path", scratch.path,
            ], in: scratch)
        let root = try #require(
            try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let targets = try #require(root["targets"] as? [[String: Any]])
        self.targets = try targets.map { target in
            let dependencies = try #require(target["dependencies"] as? [[String: Any]])
            return Target(
                name: try #require(target["name"] as? String),
                type: try #require(target["type"] as? String),
                dependencies: try dependencies.map { try Self.dependency($0) })
        }
    }

    /// A dependency is `{"byName": [NAME, …]}` or `{"product": [NAME, PACKAGE, ALIASES, …]}`.
    private static func dependency(_ json: [String: Any]) throws -> Dependency {
        let parts = try #require(json.values.first as? [Any])
        return Dependency(
            name: try #require(parts.first as? String),
            aliases: parts.lazy.compactMap { $0 as? [String: String] }.first ?? [:])
    }
}
