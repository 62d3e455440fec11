// Sandbox: the Flatpak or Snap that a process runs in.
//   (1) It is believed of the processes of one user, to tell one sandbox from another. A program
//       outside of all sandboxes can make itself look as if it were in any.

import KeychainCrypto
import Glibc

enum Sandbox {
    /// The largest description that is read, in bytes.
    private static let byteCount = 64 << 10

    /// `flatpak:ID` or `snap:NAME`. nil: the process is in none.
    static func id(of pid: pid_t, cgroup: String?) -> String? {
        if let file = Files.open("/proc/\(pid)/root/.flatpak-info", O_RDONLY | O_NONBLOCK),
            Files.status(of: file)?.isPlainFile == true,
            let content = Files.content(of: file, atMost: byteCount)
        {
            return flatpak(inInfo: String(decoding: content, as: UTF8.self))
        }
        return cgroup.flatMap { snap(inCgroup: $0) }
    }

    /// The name of the application, of the file that Flatpak puts into the root of a sandbox.
    static func flatpak(inInfo text: String) -> String? {
        var isApplication = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") {
                isApplication = line == "[Application]"
            } else if isApplication, line.hasPrefix("name=") {
                return id("flatpak", line.dropFirst("name=".count))
            }
        }
        return nil
    }

    /// The name of the snap: the unit or scope of one of its programs is `snap.NAME.PROGRAM-…`.
    static func snap(inCgroup path: String) -> String? {
        for part in path.split(separator: "/") where part.hasPrefix("snap.") {
            let names = part.split(separator: ".", omittingEmptySubsequences: false)
            if names.count >= 3 { return id("snap", names[1]) }
        }
        return nil
    }

    private static func id(_ kind: String, _ name: Substring) -> String? {
        let isPlain = name.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0))
                || [".", "-", "_"].contains($0)
        }
        return isPlain && (1...255).contains(name.utf8.count) ? "\(kind):\(name)" : nil
    }
}
