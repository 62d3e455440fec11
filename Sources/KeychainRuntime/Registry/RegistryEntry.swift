// RegistryEntry: the content of a file of the registry: a subject and the subject's entitlements.
//   (1) The subject is one of five kinds of identity. A user's service uses executables and
//       sandboxes, the machine's service user ids and units, and both use dedicated sockets.

package import FoundationEssentials
import KeychainCore

/// A JSON object: `{"executable": path, "sha256": 64 hexadecimal digits, "entitlements": path}`.
/// `sha256` is optional. Instead of `"executable"` and `"sha256"`, there can be `"user"`, `"unit"`,
/// `"socket"` or `"sandbox"`. An entry with `"socket"` can also have `"user"`, the id of the user
/// whose keychain the socket leads to. No other keys are allowed.
package struct RegistryEntry: Hashable, Sendable {
    package static let byteLimit = 1 << 16

    /// The subject of an entry.
    package enum Subject: Hashable, Sendable {
        /// A program, by the absolute path of its file without symbolic links.
        case executable(String)
        /// All processes of a user id.
        case user(UInt32)
        /// A system unit, by its name.
        case unit(String)
        /// The clients of a dedicated socket, by its name.
        case socket(String)
        /// The programs in a sandbox: `flatpak:ID` or `snap:NAME`.
        case sandbox(String)

        /// The key in the file and its value.
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

    /// The path of the entry's file.
    package let file: String
    package let subject: Subject
    /// The SHA-256 of the executable, 32 bytes. `nil` to accept any file at the path.
    package let sha256: [UInt8]?
    /// The user whose keychain a socket leads to. `nil` for the user of the service.
    package let user: UInt32?
    /// The path of the entitlements, absolute.
    package let entitlements: String

    /// Decodes an entry.
    ///
    /// - Parameters:
    ///   - content: The content of the file.
    ///   - file: The path of the file. If the path of the entitlements is relative, it is resolved
    ///     against the folder that contains this file.
    /// - Throws: ``DistrustedFile`` if the content isn't a valid entry.
    package init(_ content: Data, file: String) throws(DistrustedFile) {
        func failure(_ what: String) -> DistrustedFile {
            DistrustedFile(reason: "\(quoted(file)) \(what)")
        }
        guard let texts = try? JSONDecoder().decode([String: String].self, from: content) else {
            throw failure("isn't a JSON object with string values")
        }
        if let unknown = texts.keys.filter({ !Self.keys.contains($0) }).min() {
            throw failure("has an unknown key, \(quoted(unknown))")
        }
        var subjects = Self.subjectKeys.filter { texts[$0] != nil }
        if subjects.contains("socket") { subjects.removeAll { $0 == "user" } }
        guard subjects.count <= 1 else {
            throw failure("has more than one subject: \(subjects.joined(separator: " and "))")
        }
        guard let key = subjects.first ?? Self.subjectKeys.first, let text = texts[key] else {
            throw failure("doesn't name an executable by its absolute path")
        }
        subject = try Self.subject(key, text, failure)
        if key == "socket", let text = texts["user"] {
            guard let number = UInt32(text) else {
                throw failure("has a user id that isn't a number")
            }
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
            guard key == "executable" else { throw failure("has a SHA-256 but no executable") }
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
            guard let number = UInt32(text) else {
                throw failure("has a user id that isn't a number")
            }
            return .user(number)
        case "unit":
            guard text.hasSuffix(".service"), text != ".service", !text.contains("/") else {
                throw failure("names a unit that isn't a name without slashes and .service")
            }
            return .unit(text)
        case "socket":
            guard isSocketName(text) else {
                throw failure("has a socket whose name isn't 1 to 32 letters, digits and hyphens")
            }
            return .socket(text)
        case "sandbox":
            guard ["flatpak:", "snap:"].contains(where: { text.hasPrefix($0) && text != $0 }) else {
                throw failure("has a sandbox that isn't flatpak: or snap: followed by a name")
            }
            return .sandbox(text)
        default:
            guard isPlain(text) else {
                throw failure("doesn't name an executable by its absolute path")
            }
            return .executable(text)
        }
    }

    /// Whether a dedicated socket can have the name: 1 to 32 letters, digits and hyphens, since the
    /// path of a socket has to be short.
    package static func isSocketName(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
                    || $0 == "-"
            }
    }

    /// Whether a path is absolute and normalized, as the kernel reports paths.
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
