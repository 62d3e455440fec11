// TwoShellsTests: the README's example of two machines, as a person types it into two shells.

#if Synchronization

import EtcdTestSupport
import Foundation
import TestPrograms
import Testing

extension `With etcd` {
    @Test func `the README's two shells show the same digits, and share a secret`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "two-shells-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let keychainctl = try #require(TestProgram.path(of: "keychainctl"))
        let programs = URL(filePath: keychainctl).deletingLastPathComponent().path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let digits = try Program.run(
            "python3", package: "python3",
            [
                tests.appending(path: "two_shells.py").path,
                tests.appending(path: "../../README.md").standardized.path, folder.path,
            ], ["PATH": programs + ":" + path])
        #expect(digits.wholeMatch(of: /\d{3} \d{3}\n/) != nil, "\(digits)")
    }
}

#endif
