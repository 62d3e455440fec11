// EntitlementRules: what a program that connected may ask for, and which files are believed about
// it.
//   (1) What the program says of itself has no part in it.
//   (2) Where something is wrong, the program gets nothing, never more than it should.
//   (3) A program that could write a file that says what programs may do could give itself any
//       right. So such a file has to belong to the user whom the service runs as, or to root, and
//       no other user may write it. What is checked is the file that is read, not one that takes
//       its name meanwhile.

import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore

struct EntitlementRules: Sendable {
    let registry: ProgramRegistry
    /// Whether programs that the registry doesn't name get nothing.
    let isRegistryOnly: Bool
    /// The tool that may see every group without being named. nil: there is none.
    let keychainctl: String?

    /// - Throws: `missingEntitlement`, with a text that says what is wrong.
    func entitlements(of program: Executable) throws(KeychainFailure) -> Entitlements {
        switch registry.answer(about: program) {
        case .entitled(let entitlements): return entitlements
        case .refused(let reason):
            throw .missingEntitlement(
                "The keychain service gives \(quoted(program.path)) no access: \(reason).")
        case .unnamed: break
        }
        guard !isRegistryOnly else {
            throw .missingEntitlement(
                "The keychain service gives \(quoted(program.path)) no access: its registry, "
                    + "\(quoted(registry.folder)), doesn't name it.")
        }
        if let keychainctl, let tool = Executable(at: keychainctl), program.isSame(as: tool) {
            return Entitlements(
                accessGroups: AccessGroups([
                    EmbeddedKeychain.defaultGroup, AccessGroups.wildcard,
                ]))
        }
        return try ownEntitlements(of: program)
    }

    /// As in embedded mode: the list beside the program, or the default group.
    private func ownEntitlements(
        of program: Executable
    ) throws(KeychainFailure) -> Entitlements {
        let path = program.path + ".entitlements"
        guard Files.status(of: path) != nil else {
            return Entitlements(
                accessGroups: .withoutEntitlements(executable: program.path))
        }
        do throws(DistrustedFile) {
            return try registry.entitlements(at: path)
        } catch {
            throw .missingEntitlement(
                "The keychain service gives \(quoted(program.path)) no access: \(error.reason).")
        }
    }
}

// MARK: - Files that are believed

/// Why a file isn't believed. The text names the file and says what to do.
struct DistrustedFile: Error, Hashable, Sendable {
    let reason: String
}

struct TrustedFile: Sendable {
    let content: Data
    let identity: FileIdentity

    /// Reads a file.
    init(_ path: String, atMost limit: Int) throws(DistrustedFile) {
        // What isn't a plain file must not make the service wait.
        guard let descriptor = Files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = Files.status(of: descriptor)
        else { throw DistrustedFile(reason: "\(quoted(path)) can't be read: \(errorText(errno))") }
        guard status.isPlainFile else {
            throw DistrustedFile(reason: "\(quoted(path)) is no plain file")
        }
        try Self.check(path, status)
        guard let content = Files.content(of: descriptor, atMost: limit) else {
            throw DistrustedFile(
                reason: "\(quoted(path)) can't be read, or is larger than \(limit) bytes")
        }
        self.content = content
        identity = status.identity
    }

    /// Checks who may write a file or a folder.
    static func check(_ path: String, _ status: FileStatus) throws(DistrustedFile) {
        guard status.owner == geteuid() || status.owner == 0 else {
            throw DistrustedFile(
                reason: "\(quoted(path)) belongs to another user (uid \(status.owner)); it has to "
                    + "belong to root or to the user of the service")
        }
        guard status.mode & 0o022 == 0 else {
            throw DistrustedFile(
                reason: "\(quoted(path)) can be written by others. Take that right away with "
                    + "`chmod go-w` after making sure that it is as it was")
        }
    }
}
