// SourceTests: properties of the app's source code.

import ExampleTesting
import Foundation
import Testing

@Suite struct `Sign-in sources` {
    struct Source {
        let name: String
        let text: String
        /// The source code without comments.
        var code: String {
            text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
                .joined(separator: "\n")
        }
    }

    private func sources(_ folderName: String) throws -> [Source] {
        let folder = folder(ofSystem: "SignIn").appending(path: "Sources/\(folderName)")
        let files = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "swift" }.map {
            Source(name: $0.lastPathComponent, text: try String(contentsOf: $0, encoding: .utf8))
        }
    }

    private func imports(_ sources: [Source]) -> Set<String> {
        Set(
            sources.flatMap { source in
                source.text.matches(of: /(?m)^ *(?:[@\w]+ )*import (?:\w+ )?(\w+)/)
                    .map { String($0.1) }
            })
    }

    @Test func `the app imports no keychain library but Security`() throws {
        let library = try sources("SignIn")
        #expect(library.count >= 6)
        #expect(
            imports(library) == [
                "Foundation", "FoundationNetworking", "Logging", "Observation", "Security", "os",
            ])
        #expect(
            imports(try sources("sign-in")) == [
                "Foundation", "Logging", "Observation", "Security", "SignIn",
            ])
    }

    @Test func `only one file calls the keychain`() throws {
        let sources = try sources("SignIn") + sources("sign-in")
        let speakers = sources.filter { $0.code.contains(/SecItem\w+\(|kSec[A-Z]/) }
        #expect(speakers.map(\.name) == ["KeychainService.swift"])
        // Each call's first dictionary is derived from one query, which specifies the data
        // protection keychain.
        let code = try #require(speakers.first).code
        #expect(code.matches(of: /kSecClass as String/).count == 1)
        #expect(code.matches(of: /kSecUseDataProtectionKeychain as String: true/).count == 1)
        #expect(code.matches(of: /(?m)SecItem\w+\((\n\s*)?(query|search|addition)\(/).count == 6)
        #expect(code.matches(of: /SecItem\w+\(/).count == 6)
    }

    @Test func `the sources contain the required declarations`() throws {
        let code = try sources("SignIn").map(\.code).joined()
        for declaration in [
            "final class KeychainService", "static let shared", "enum Key: String",
            "enum KeychainError: LocalizedError", "final class AuthViewModel",
            "private(set) var userIdentifier: String?", "func signIn() async throws",
        ] {
            #expect(code.contains(declaration), "\(declaration)")
        }
    }
}
