// EntitlementRules: what a program that connected may ask for.
//   (1) What the program says of itself has no part in it.
//   (2) Where something is wrong, the program gets nothing, never more than it should.

import Glibc
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
                "The keychain service gives \(program.path) no access: \(reason).")
        case .unnamed: break
        }
        guard !isRegistryOnly else {
            throw .missingEntitlement(
                "The keychain service gives \(program.path) no access: its registry, "
                    + "\(registry.folder), doesn't name it.")
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
                "The keychain service gives \(program.path) no access: \(error.reason).")
        }
    }
}
