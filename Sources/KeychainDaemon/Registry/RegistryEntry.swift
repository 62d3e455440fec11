// RegistryEntry: one file of the registry, which gives entitlements to a program.

import FoundationEssentials

/// `{"executable": path, "sha256": 64 hexadecimal digits, "entitlements": path}`; the second may be
/// left out, and there is nothing else.
struct RegistryEntry: Hashable, Sendable {
    static let byteLimit = 1 << 16

    /// The file that the entry stands in.
    let file: String
    /// An absolute path, without symbolic links.
    let executable: String
    /// 32 bytes. nil: whatever stands at the path is meant.
    let sha256: [UInt8]?
    /// An absolute path.
    let entitlements: String

    /// - Parameters:
    ///   - content: What the file holds.
    ///   - file: Its path. A path of entitlements that isn't absolute begins at its folder.
    /// - Throws: ``DistrustedFile`` for anything but such an object.
    init(_ content: Data, file: String) throws(DistrustedFile) {
        func failure(_ what: String) -> DistrustedFile {
            DistrustedFile(reason: "\(file) \(what)")
        }
        guard let texts = try? JSONDecoder().decode([String: String].self, from: content) else {
            throw failure("is no JSON object of texts")
        }
        if let unknown = texts.keys.filter({ !Self.keys.contains($0) }).min() {
            throw failure("has an unknown key, \"\(unknown)\"")
        }
        guard let executable = texts["executable"], Self.isPlain(executable) else {
            throw failure("names no executable by its absolute path")
        }
        guard let entitlements = texts["entitlements"], !entitlements.isEmpty,
            !entitlements.utf8.contains(0)
        else { throw failure("names no entitlements") }
        if let digits = texts["sha256"] {
            guard let digest = Self.bytes(digits), digest.count == 32 else {
                throw failure("has a SHA-256 that isn't 64 hexadecimal digits")
            }
            sha256 = digest
        } else {
            sha256 = nil
        }
        self.file = file
        self.executable = executable
        let folder = file.lastIndex(of: "/").map { file[...$0] } ?? ""
        self.entitlements = entitlements.hasPrefix("/") ? entitlements : folder + entitlements
    }

    private static let keys: Set<String> = ["executable", "sha256", "entitlements"]

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
