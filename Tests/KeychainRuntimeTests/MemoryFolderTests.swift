// MemoryFolderTests: the contents of a folder in memory after its removal, and the descriptor
// numbers of files in memory.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import Testing

@Suite struct `A folder in memory` {
    /// Hard links show what the files contain after the folder was removed.
    @Test func `removing the folder overwrites all files in the folder and its subfolders`() throws
    {
        let files = FileManager.default
        let outside = "/dev/shm/memory-folder-test-\(UUID().uuidString)"
        try files.createDirectory(atPath: outside, withIntermediateDirectories: false)
        defer { try? files.removeItem(atPath: outside) }
        let secret = Array("secret".utf8)
        let memory = try #require(
            MemoryFolder(with: SecretBytes(copying: secret), in: ["/dev/shm"]))
        let folder = URL(fileURLWithPath: memory.path).deletingLastPathComponent().path
        // An editor, for example, has left a read-only copy in a subfolder.
        try files.createDirectory(
            atPath: folder + "/backups/old", withIntermediateDirectories: true)
        try Data(secret).write(to: URL(fileURLWithPath: folder + "/backups/old/copy"))
        try files.setAttributes(
            [.posixPermissions: 0o400], ofItemAtPath: folder + "/backups/old/copy")
        for (number, path) in [memory.path, folder + "/backups/old/copy"].enumerated() {
            try files.linkItem(atPath: path, toPath: outside + "/\(number)")
        }
        memory.remove()
        #expect(!files.fileExists(atPath: folder))
        for number in 0...1 {
            let left = try Data(contentsOf: URL(fileURLWithPath: outside + "/\(number)"))
            #expect(left.count >= secret.count && left.allSatisfy { $0 == 0 })
        }
    }
}

/// These tests run in separate processes, because other tests open files at the same time.
@Suite struct `A file in memory` {
    @Test func `a descriptor number can be reserved even if it is the lowest free one`() async {
        await #expect(processExitsWith: .success) {
            let lowest = try #require(Files.open("/dev/null", O_RDONLY))
            let number = lowest.number
            lowest.close()
            #expect(Descriptor.reserve(number))
            #expect(fcntl(number, F_GETFD) == FD_CLOEXEC)
            let secret = SecretBytes(copying: Array("secret".utf8))
            let file = try #require(MemoryFile.make(of: secret))
            #expect(file.number != number)
            #expect(MemoryFile.give(file, as: number) == number)
            file.close()
            // The reserved number is still open, and programs that are started inherit it.
            #expect(fcntl(number, F_GETFD) == 0)
        }
    }

    @Test func `a file given under its own number stays open, and started programs inherit it`()
        async
    {
        await #expect(processExitsWith: .success) {
            let secret = SecretBytes(copying: Array("secret".utf8))
            for isNumbered in [false, true] {
                let file = try #require(MemoryFile.make(of: secret))
                let number = file.number
                #expect(MemoryFile.give(file, as: isNumbered ? number : nil) == number)
                file.close()
                #expect(fcntl(number, F_GETFD) == 0)
            }
        }
    }
}
