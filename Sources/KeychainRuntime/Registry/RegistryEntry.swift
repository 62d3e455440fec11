// RegistryEntry: one file of the registry: who it is about, and which entitlements they have.
//   (1) It is about one of five kinds of identity, and which of them count depends on the service:
//       executables and sandboxes in a user's, user ids and units in that of the machine, sockets of
//       their own in both.

package import FoundationEssentials
import KeychainCore

/// `{"executable": path, "sha256": 64 hexadecimal digits, "entitlements": path}`; the second may be
/// left out. In the place of the first two `"user"`, `"unit"`, `"socket"` or `"sandbox"`; beside a
/// socket `"user"` may say whose keychain it leads to. There is nothing else.
package struct RegistryEntry: Hashable, Sendable {
    package static let byteLimit = 1 << 16

    /// Who is meant.
    package enum Subject: Hashable, Sendable {
        /// A program by the absolute path of its file, without symbolic links.
        case executable(String)
        /// Every process of a user id.
        case user(UInt32)
        /// A system unit by its name.
        case unit(String)
        /// Who connects to a socket of its own.
        case socket(String)
        /// A program in a sandbox: `flatpak:ID` or `snap:NAME`.
        case sandbox(String)

        /// The key in the file, and the text that stands there.
        package var texts: (key: String, text: String) {
            switch self {
            case .executable(let path): ("executable", path)
            case .user(let user): ("user", "\(user)")
            case .unit(let name): ("unit", name)
            case .socket(let name): ("socket", name)
            case .sandbox(let id): ("sandbox", id)
            }
        }
    }

    /// The file that the entry stands in.
    package let file: String
    package let subject: Subject
    /// 32 bytes. nil: whatever stands at the path is meant.
    package let sha256: [UInt8]?
    /// Whose keychain a socket leads to. nil: that of the service's user.
    package let user: UInt32?
    /// An absolute path.
    package let entitlements: String

    /// - Parameters:
    ///   - content: What the file holds.
    ///   - file: Its path. A path of entitlements that isn't absolute begins at its folder.
    /// - Throws: ``DistrustedFile`` for anything but such an object.
    package init(_ content: Data, file: String) throws(DistrustedFile) {
        func failure(_ what: String) -> DistrustedFile {
            DistrustedFile(reason: "\(quoted(file)) \(what)")
        }
        guard let texts = try? JSONDecoder().decode([String: String].self, from: content) else {
            throw failure("is no JSON object of texts")
        }
        if let unknown = texts.keys.filter({ !Self.keys.contains($0) }).min() {
            throw failure("has an unknown key, \(quoted(unknown))")
        }
        var subjects = Self.subjectKeys.filter { texts[$0] != nil }
        if subjects.contains("socket") { subjects.removeAll { $0 == "user" } }
        guard subjects.count <= 1 else {
            throw failure("is about two: \(subjects.joined(separator: " and "))")
        }
        guard let key = subjects.first ?? Self.subjectKeys.first, let text = texts[key] else {
            throw failure("names no executable by its absolute path")
        }
        subject = try Self.subject(key, text, failure)
        if key == "socket", let text = texts["user"] {
            guard let number = UInt32(text) else { throw failure("has a user that is no number") }
            user = number
        } else {
            user = nil
        }
        guard let entitlements = texts["entitlements"], !entitlements.isEmpty,
            !entitlements.utf8.contains(0)
        else { throw failure("names no entitlements") }
        if let digits = texts["sha256"] {
            guard let digest = Self.bytes(digits), digest.count == 32 else {
                throw failure("has a SHA-256 that isn't 64 hexadecimal digits")
            }
            guard key == "executable" else { throw failure("has a SHA-256 of no executable") }
            sha256 = digest
        } else {
            sha256 = nil
        }
        self.file = file
        let folder = file.lastIndex(of: "/").map { file[...$0] } ?? ""
        self.entitlements = entitlements.hasPrefix("/") ? entitlements : folder + entitlements
    }

    private static let subjectKeys = ["executable", "user", "unit", "socket", "sandbox"]
    private static let keys = Set(subjectKeys + ["sha256", "entitlements"])

    private static func subject(
        _ key: String, _ text: String, _ failure: (String) -> DistrustedFile
    ) throws(DistrustedFile) -> Subject {
        switch key {
        case "user":
            guard let number = UInt32(text) else { throw failure("has a user that is no number") }
            return .user(number)
        case "unit":
            guard text.hasSuffix(".service"), !text.contains("/") else {
                throw failure("names a unit that doesn't end in .service")
            }
            return .unit(text)
        case "socket":
            guard isSocketName(text) else {
                throw failure("has a socket whose name isn't 1 to 32 letters, digits and hyphens")
            }
            return .socket(text)
        case "sandbox":
            guard ["flatpak:", "snap:"].contains(where: { text.hasPrefix($0) }) else {
                throw failure("has a sandbox that isn't flatpak: or snap: and a name")
            }
            return .sandbox(text)
        default:
            guard isPlain(text) else { throw failure("names no executable by its absolute path") }
            return .executable(text)
        }
    }

    /// Whether a socket of its own can have the name: its path has to be short.
    package static func isSocketName(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
                    || $0 == "-"
            }
    }

    /// Whether a path is absolute and as the kernel writes it.
    private static func isPlain(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return path.hasPrefix("/") && !path.utf8.contains(0)
            && parts.dropFirst().allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }

    private static func bytes(_ digits: String) -> [UInt8]? {
        let values = digits.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard values.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[index], let low = values[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
