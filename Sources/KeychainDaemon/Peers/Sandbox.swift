// Sandbox: the Flatpak or Snap sandbox that a process runs in.
//   (1) The result is good only for telling a user's sandboxes apart. It is no proof: a program
//       outside all sandboxes can make itself appear to be in any of them.

import KeychainCrypto
import Glibc

enum Sandbox {
    /// The maximum size in bytes of a `.flatpak-info` file that is read.
    private static let byteCount = 64 << 10

    /// `flatpak:ID` or `snap:NAME`. `nil` if the process isn't in a sandbox, or if the sandbox has
    /// no valid name.
    static func id(of pid: pid_t, cgroup: String?) -> String? {
        if let file = Files.open("/proc/\(pid)/root/.flatpak-info", O_RDONLY | O_NONBLOCK),
            Files.status(of: file)?.isPlainFile == true,
            let content = Files.content(of: file, atMost: byteCount)
        {
            return flatpak(inInfo: String(decoding: content, as: UTF8.self))
        }
        return cgroup.flatMap { snap(inCgroup: $0) }
    }

    /// `flatpak:ID`, with the application's name from `.flatpak-info`, the file that Flatpak puts
    /// into the root of a sandbox.
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

    /// `snap:NAME`, with the snap's name from the path of the control group: the units and scopes
    /// of the snap's programs are named `snap.NAME.PROGRAM-…`.
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
