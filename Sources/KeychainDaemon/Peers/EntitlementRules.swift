// EntitlementRules: what a caller may ask for.
//   (1) What the caller says of itself has no part in it.
//   (2) Where something is wrong, the caller gets nothing, never more than it should.
//   (3) The user id is the wall. In the machine's service nothing below it counts but a unit whose
//       user id is its own, and a socket of its own. In a user's service executables and sandboxes
//       keep programs apart that mean no harm.

import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore

/// What a caller may have.
struct Rights: Hashable, Sendable {
    /// What it is told that it has.
    let entitlements: Entitlements
    /// What a claim of every group means.
    let everything: AccessGroups
    /// Whether it may lock, set a passcode and check.
    let mayAdminister: Bool
    /// Whose keychain it is.
    let user: uid_t

    /// The groups of a request that claims some.
    func caller(_ claim: AccessGroups) -> AccessGroups {
        (claim.includesAll ? everything : entitlements.accessGroups).granted(to: claim)
    }
}

struct EntitlementRules: Sendable {
    let registry: ProgramRegistry
    /// Whether programs that the registry doesn't name get nothing.
    let isRegistryOnly: Bool
    /// The tool that may see every group without being named. nil: there is none.
    let keychainctl: String?
    /// Where processes of a user id were seen.
    let census: UnitCensus

    init(
        registry: ProgramRegistry, isRegistryOnly: Bool, keychainctl: String?,
        census: UnitCensus = UnitCensus()
    ) {
        self.registry = registry
        self.isRegistryOnly = isRegistryOnly
        self.keychainctl = keychainctl
        self.census = census
    }

    /// - Throws: `missingEntitlement`, with a text that says what is wrong, and which entry to make.
    func rights(of peer: Peer) throws(KeychainFailure) -> Rights {
        switch peer.identity {
        case .program(let executable):
            return own(try entitlements(of: executable), mayAdminister: true)
        case .sandbox(let id):
            let listed = try listed(.sandbox(id), "the program \(id)")
            guard listed != nil || !isRegistryOnly else { throw unnamed("the program \(id)") }
            return own(
                listed ?? Entitlements(accessGroups: AccessGroups([id])), mayAdminister: false)
        case .socket(let name):
            guard let entry = registry.sockets()[name],
                let listed = try listed(.socket(name), "the socket \(name)")
            else { throw unnamed("the socket \(name)") }
            return Rights(
                entitlements: listed, everything: listed.accessGroups, mayAdminister: false,
                user: entry.user ?? geteuid())
        case .account(let command, let unit):
            return try rights(of: peer.uid, command: command, unit: unit)
        }
    }

    /// In a user's service: the keychain is that of the user, whoever asks.
    private func own(_ entitlements: Entitlements, mayAdminister: Bool) -> Rights {
        Rights(
            entitlements: entitlements, everything: entitlements.accessGroups,
            mayAdminister: mayAdminister, user: geteuid())
    }

    /// In the machine's service.
    private func rights(
        of user: uid_t, command: String, unit: String?
    ) throws(KeychainFailure) -> Rights {
        guard !SystemUnit.isShortLived(user) else {
            throw .missingEntitlement(
                "The keychain service gives the user id \(user) no keychain: such ids are given to "
                    + "one unit after another. Give the unit a User= of its own instead of "
                    + "DynamicUser=, or a socket of its own.")
        }
        var entitlements: Entitlements?
        if let unit, let listed = try listed(.unit(unit), unit) {
            if let objection = census.objection(to: unit, of: user) {
                throw .missingEntitlement(
                    "The keychain service gives \(unit) no access: \(objection).")
            }
            entitlements = listed
        }
        if entitlements == nil { entitlements = try listed(.user(user), "the user id \(user)") }
        if let entitlements {
            return Rights(
                entitlements: entitlements, everything: entitlements.accessGroups,
                mayAdminister: entitlements.accessGroups.includesAll, user: user)
        }
        guard !isRegistryOnly else { throw unnamed("the user id \(user)") }
        // All that a user has is the user's, in every program.
        return Rights(
            entitlements: Entitlements(
                accessGroups: .withoutEntitlements(executable: command)),
            everything: AccessGroups([EmbeddedKeychain.defaultGroup, AccessGroups.wildcard]),
            mayAdminister: true, user: user)
    }

    private func listed(
        _ subject: RegistryEntry.Subject, _ name: String
    ) throws(KeychainFailure) -> Entitlements? {
        switch registry.answer(about: subject) {
        case .entitled(let entitlements): return entitlements
        case .unnamed: return nil
        case .refused(let reason):
            throw .missingEntitlement("The keychain service gives \(name) no access: \(reason).")
        }
    }

    private func unnamed(_ name: String) -> KeychainFailure {
        .missingEntitlement(
            "The keychain service gives \(name) no access: its registry, \(registry.folder), "
                + "doesn't name it.")
    }

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
                    + "\(quoted(registry.folder)), doesn't name it. `keychainctl program add` with "
                    + "that path does.")
        }
        if let keychainctl, let tool = Executable(at: keychainctl), program.isSame(as: tool) {
            return Entitlements(
                accessGroups: AccessGroups([
                    EmbeddedKeychain.defaultGroup, AccessGroups.wildcard,
                ]))
        }
        return try ownEntitlements(of: program)
    }

    /// The list beside the program, where it and the program are root's, or the default group.
    private func ownEntitlements(
        of program: Executable
    ) throws(KeychainFailure) -> Entitlements {
        let path = program.path + ".entitlements"
        guard Files.status(ofLink: path) != nil else {
            return Entitlements(
                accessGroups: .withoutEntitlements(executable: program.path))
        }
        // Any program of the user could have written it. Without its groups the program would miss
        // what it has stored, so it isn't given the default ones.
        guard TrustedFile.isRoots(path), TrustedFile.isRoots(program.path) else {
            throw .missingEntitlement(
                "The keychain service gives \(program.path) no access: the entitlements beside it "
                    + "count only where they and the program are root's. Where they are as they "
                    + "should be, `keychainctl program add \(program.path)` makes them count.")
        }
        do throws(DistrustedFile) {
            return try registry.entitlements(at: path)
        } catch {
            throw .missingEntitlement(
                "The keychain service gives \(quoted(program.path)) no access: \(error.reason).")
        }
    }
}
