// ConfigurationFileTests: the files of other programs that `setup` changes.

import Foundation
import Testing

@testable import KeychainTool

@Suite final class `Configuration files of other programs` {
    private let folder = NSTemporaryDirectory() + "configuration-" + UUID().uuidString

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(_ name: String) throws -> String {
        let path = folder + name
        try "{\"credsStore\": \"keychain\"}".write(
            toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test(arguments: ["/config.json", "//config.json", "///config.json"])
    func `a file whose new content is "{}" is deleted, however many slashes its path has`(
        _ name: String
    ) throws {
        let path = try write(name)
        try ConfigurationFile(path, isPrivate: true).replace(with: "{}\n")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a file whose new content is "{}" isn't deleted if a link leads to it`() throws {
        let path = try write("/docker.json")
        let link = folder + "/config.json"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        try ConfigurationFile(link, isPrivate: true).replace(with: "{}\n")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "{}\n")
    }
}
