// RegistryFolder: the registry of a user's service, as the tool reads and changes it.
//   (1) An entry and its list of entitlements are replaced by renaming files, the list first. A
//       service that reads them in the meantime finds the complete old or the complete new version
//       of each file.
//   (2) A folder or an entry that can't be read is an error. It isn't treated as missing, since it
//       may be about the subject that is looked up.

package import FoundationEssentials
import Glibc
package import KeychainCore
import KeychainCrypto

package struct RegistryFolder: Sendable {
    /// The path of the folder, absolute.
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// The registry of this user's service.
    /// - Throws: `param` if the user has no home folder.
    package static func ofUser(
        _ environment: [String: String] = ProcessEnvironment.variables
    ) throws(KeychainFailure) -> RegistryFolder {
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            return RegistryFolder(path: folder + "/keychain/programs")
        }
        guard let home = ProcessEnvironment.home(environment) else {
            throw .param(
                "This user has no home folder, neither in HOME nor in the user database, so the "
                    + "registry can't be located.")
        }
        return RegistryFolder(path: home + "/.config/keychain/programs")
    }

    /// The entries, in order of their file names. Empty if the folder doesn't exist.
    package func entries() throws(DistrustedFile) -> [RegistryEntry] {
        guard let status = Files.status(of: path) else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw DistrustedFile(reason: "\(quoted(path)) can't be read: \(errorText(errno))")
        }
        try TrustedFile.check(path, status)
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw DistrustedFile(reason: "\(quoted(path)) is not a folder that can be listed")
        }
        var entries: [RegistryEntry] = []
        for name in names.sorted() where name.hasSuffix(".json") {
            let file = path + "/" + name
            let content = try TrustedFile(file, atMost: RegistryEntry.byteLimit).content
            entries.append(try RegistryEntry(content, file: file))
        }
        return entries
    }

    /// The entitlements that an entry gives.
    package func entitlements(
        of entry: RegistryEntry
    ) throws(KeychainFailure) -> Entitlements {
        let list: TrustedFile
        do throws(DistrustedFile) {
            list = try TrustedFile(entry.entitlements, atMost: Entitlements.byteLimit)
        } catch {
            throw .missingEntitlement("\(error.reason).")
        }
        return try Entitlements(propertyList: list.content, name: entry.entitlements)
    }

    /// Creates or replaces the entry about a subject.
    ///
    /// - Parameters:
    ///   - subject: The subject.
    ///   - sha256: The SHA-256 as hexadecimal digits, for executables only.
    ///   - list: The property list of the entitlements.
    /// - Returns: The path of the entry's file.
    /// - Throws: `notAvailable` if the registry can't be trusted or written.
    package func put(
        _ subject: RegistryEntry.Subject, sha256: String?, list: Data
    ) throws(KeychainFailure) -> String {
        do throws(DistrustedFile) {
            try prepare()
            let base = try base(for: subject)
            try write(list, base + ".entitlements")
            let (key, text) = subject.texts
            var texts = [key: text, "entitlements": base + ".entitlements"]
            texts["sha256"] = sha256
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            guard let entry = try? encoder.encode(texts) else {
                throw DistrustedFile(reason: "\(text) can't be written as JSON")
            }
            try write(entry, base + ".json")
            return path + "/" + base + ".json"
        } catch {
            throw .notPermitted("\(error.reason).")
        }
    }

    /// Removes the entries about a subject.
    /// - Returns: The number of entries that were removed.
    /// - Throws: `notAvailable` if the registry can't be trusted or written.
    package func remove(_ subject: RegistryEntry.Subject) throws(KeychainFailure) -> Int {
        do throws(DistrustedFile) {
            let entries = try entries().filter { $0.subject == subject }
            for entry in entries {
                guard Files.remove(entry.file) else { throw Self.failure(entry.file) }
                // The list is removed only if it has the name under which `put` creates it.
                let own = entry.file.dropLast(".json".count) + ".entitlements"
                if entry.entitlements == own { Files.remove(entry.entitlements) }
            }
            return entries.count
        } catch {
            throw .notPermitted("\(error.reason).")
        }
    }

    // MARK: Files

    private func prepare() throws(DistrustedFile) {
        var folder = ""
        for component in path.split(separator: "/") {
            folder += "/" + component
            Files.makeFolder(folder, mode: 0o700)
        }
        guard let status = Files.status(of: path), status.isFolder else {
            throw Self.failure(path)
        }
        try TrustedFile.check(path, status)
    }

    /// The name of the files without extension: that of the existing entry, or an unused one.
    private func base(for subject: RegistryEntry.Subject) throws(DistrustedFile) -> String {
        let entries = try entries()
        if let entry = entries.first(where: { $0.subject == subject }) {
            return String(entry.file.dropFirst(path.count + 1).dropLast(".json".count))
        }
        let last = subject.texts.text.split(separator: "/").last.map { String($0) } ?? ""
        let name = String(
            last.unicodeScalars.prefix(64).map { scalar -> Character in
                let isPlain =
                    scalar.isASCII && scalar.properties.isAlphabetic
                    || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_"
                return isPlain ? Character(scalar) : "-"
            })
        var number = 1
        while true {
            let base = number == 1 ? name : "\(name)-\(number)"
            if Files.status(ofLink: "\(path)/\(base).json") == nil,
                Files.status(ofLink: "\(path)/\(base).entitlements") == nil
            {
                return base
            }
            number += 1
        }
    }

    private func write(_ content: Data, _ name: String) throws(DistrustedFile) {
        let target = path + "/" + name
        let temporary = "\(path)/.\(name).new"
        Files.remove(temporary)
        guard
            let file = Files.open(
                temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600),
            Descriptor.write([UInt8](content), to: file.number),
            Files.rename(temporary, target)
        else { throw Self.failure(target) }
    }

    private static func failure(_ path: String) -> DistrustedFile {
        DistrustedFile(reason: "\(quoted(path)) can't be written: \(errorText(errno))")
    }
}

extension Entitlements {
    /// A property list with these access groups.
    package static func propertyList(groups: [String]) -> Data {
        func escaped(_ text: String) -> String {
            text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
                .replacing(">", with: "&gt;")
        }
        let texts = groups.map { "        <string>\(escaped($0))</string>\n" }.joined()
        return Data(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0">
            <dict>
                <key>keychain-access-groups</key>
                <array>
            \(texts)    </array>
            </dict>
            </plist>

            """.utf8)
    }
}
