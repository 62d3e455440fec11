// DiskTests: keychains on full or read-only disks and in folders without write permission. Each
// test creates its disk or folder.

import Foundation
import KeychainEngine
import KeychainCore
import TestPrograms
import Testing

@Suite(.serialized) struct DiskTests {
    /// One line of a probe's output: "open -25291 reason".
    private struct Answer {
        let operation: Substring
        let status: Status
        let reason: Substring

        init(_ line: String) throws {
            let parts = line.split(separator: " ", maxSplits: 2)
            operation = parts[0]
            status = Status(rawValue: try #require(Int32(parts[1])))
            reason = parts.count > 2 ? parts[2] : ""
        }
    }

    /// Whether the keychain was opened and read, and the change was refused with advice.
    private func isReadOnly(_ answers: [Answer], _ words: String) -> Bool {
        answers.map(\.operation) == ["open", "load", "save"]
            && answers.map(\.status) == [Status(rawValue: 0), Status(rawValue: 0), .readOnly]
            && answers[2].reason.contains(words)
    }

    private func isGood(_ answers: [Answer]) -> Bool {
        answers.map(\.operation) == ["open", "load", "save"]
            && answers.allSatisfy { $0.status.rawValue == 0 }
    }

    @Test func `a keychain in a read-only folder can be read, and a change fails with advice`()
        throws
    {
        let folder = try TemporaryFolder()
        #expect(try faultWriter("make", folder.path).lines() == ["made"])
        let before = try folder.contents()
        // Root can write everywhere. If the test runs as root, another user gets the keychain.
        let isRoot = geteuid() == 0
        try folder.give(to: isRoot ? 65_534 : geteuid(), mode: 0o500)
        let answers = try faultWriter("probe-as-nobody", folder.path).lines().map(Answer.init)
        #expect(isReadOnly(answers, "chmod 700 \(folder.path)"), "\(answers)")
        try folder.give(to: geteuid(), mode: 0o700)
        let after = try folder.contents()
        #expect(after == before)
        #expect(isGood(try faultWriter("probe", folder.path).lines().map(Answer.init)))
    }

    @Test func `a keychain on a read-only file system can be read, and a change fails with advice`()
        throws
    {
        let folder = try TemporaryFolder()
        let child = try mountingScript(
            """
            mount -t tmpfs -o size=4m,mode=700 none "$place"
            "$writer" make "$place"
            mount -o remount,bind,ro "$place"
            "$writer" probe "$place"
            mount -o remount,bind,rw "$place"
            echo again
            "$writer" probe "$place"
            """, ["place": folder.path])
        let lines = child.lines()
        try #require(child.endedWell, "\(lines)")
        let parts = lines.split(separator: "again").map(Array.init)
        try #require(parts.count == 2)
        #expect(parts[0].first == "made")
        let answers = try parts[0].dropFirst().map(Answer.init)
        #expect(isReadOnly(answers, "read-only file system"), "\(answers)")
        #expect(isGood(try parts[1].map(Answer.init)))
    }

    @Test func `commits in the log on a read-only file system are read`() throws {
        let folder = try TemporaryFolder()
        let child = try mountingScript(
            """
            mount -t tmpfs -o size=4m,mode=700 none "$place"
            "$writer" leave-log "$place" || :
            test -s "$place/keychain.db-wal"
            mount -o remount,bind,ro "$place"
            before=$(cat "$place"/* | sha256sum)
            "$writer" count "$place"
            test "$before" = "$(cat "$place"/* | sha256sum)"
            mount -o remount,bind,rw "$place"
            rm "$place/keychain.db-shm"
            mount -o remount,bind,ro "$place"
            "$writer" count "$place"
            """, ["place": folder.path])
        let lines = child.lines()
        try #require(child.endedWell, "\(lines)")
        try #require(lines.count == 3, "\(lines)")
        #expect(lines[..<2] == ["ready", "count 4"])
        // Without its shared memory, a log can be read only if the folder is writable. The keychain
        // must report this instead of ignoring the log.
        #expect(lines[2].hasPrefix("count -25291 ") && lines[2].contains("log"), "\(lines[2])")
    }

    @Test func `changes made through another mount are read`() throws {
        let folder = try TemporaryFolder()
        let child = try mountingScript(
            """
            mount -t tmpfs -o size=4m,mode=700 none "$place"
            mkdir -m 700 "$place/written" "$place/read"
            "$writer" make "$place/written"
            mount --bind "$place/written" "$place/read"
            mount -o remount,bind,ro "$place/read"
            "$writer" count-three-times "$place/read" "$place/written"
            """, ["place": folder.path])
        let lines = child.lines()
        try #require(child.endedWell, "\(lines)")
        #expect(lines == ["made", "count 1", "count 2", "count 2"])
    }

    @Test func `a full disk gives an error, and acknowledged writes are kept`() throws {
        let folder = try TemporaryFolder()
        let child = try mountingScript(
            """
            mount -t tmpfs -o size=2m,mode=700 none "$place"
            "$writer" full-disk "$place"
            """, ["place": folder.path])
        let lines = child.lines()
        try #require(child.endedWell, "\(lines)")
        let words = try #require(lines.last).split(separator: " ")
        let count = try #require(Int(words[0]))
        #expect(count > 10)
        #expect(Status(rawValue: try #require(Int32(words[1]))) == .diskFull)
        #expect(words[2] == "sound")
        print("no space left: \(count) acknowledged writes, 0 lost")
    }

    @Test func `opening a keychain on a completely full disk reports that the disk is full`() throws
    {
        let folder = try TemporaryFolder()
        let child = try mountingScript(
            """
            mount -t tmpfs -o size=4m,mode=700 none "$place"
            "$writer" make "$place"
            head -c 8m /dev/zero > "$place/ballast" 2>/dev/null || true
            "$writer" probe "$place"
            rm "$place/ballast"
            echo again
            "$writer" probe "$place"
            """, ["place": folder.path])
        let lines = child.lines()
        try #require(child.endedWell, "\(lines)")
        let parts = lines.split(separator: "again").map(Array.init)
        try #require(parts.count == 2)
        let refusal = try #require(try parts[0].dropFirst().map(Answer.init).last)
        #expect(refusal.operation == "open", "\(refusal)")
        #expect(refusal.status == .diskFull, "\(refusal)")
        #expect(refusal.reason.contains("The disk is full."), "\(refusal)")
        #expect(isGood(try parts[1].map(Answer.init)))
    }

    @Test func `a commit that runs out of space fails for all writes that share it`() throws {
        let folder = try TemporaryFolder()
        let child = try mountingScript(
            """
            mount -t tmpfs -o size=2m,mode=700 none "$place"
            "$writer" full-disk-threads "$place"
            """, ["place": folder.path])
        let lines = child.lines()
        try #require(child.endedWell, "\(lines)")
        let full = String(Status.diskFull.rawValue)
        #expect(
            lines == [
                Array(repeating: full, count: 8).joined(separator: " "),
                Array(repeating: "0", count: 8).joined(separator: " "),
                // The keychain contains the earlier item and the eight items of the second commit.
                "9 sound",
            ])
    }
}

extension TemporaryFolder {
    /// Changes the owner of the folder and its files, and the folder's permissions.
    func give(to user: uid_t, mode: mode_t) throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: path)
            .map { path + "/" + $0 }
        // SAFETY: the paths are copied within the calls.
        let isChanged =
            unsafe files.allSatisfy { unsafe chown($0, user, gid_t.max) == 0 }
            && chmod(path, mode) == 0 && chown(path, user, gid_t.max) == 0
        try #require(isChanged)
    }
}
