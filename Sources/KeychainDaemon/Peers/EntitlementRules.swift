// EntitlementRules: the access groups and operations that a caller may use.
//   (1) Nothing that the caller states extends its rights. Its claim only selects from them.
//   (2) An error never extends the rights of a caller. At most, the caller keeps the rights that
//       it had when the registry was last read.
//   (3) The user id is the security boundary. In the machine's service, only a unit with an
//       exclusive user id, or a dedicated socket, can have other rights than the user id. In a
//       user's service, executables and sandboxes separate only programs that are not hostile.

import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore

/// The rights of a caller.
struct Rights: Hashable, Sendable {
    /// The entitlements that apply to the caller's claims, except to a claim of all groups. They
    /// are also reported to the caller.
    let entitlements: Entitlements
    /// The access groups that a claim of all groups stands for.
    let everything: AccessGroups
    /// Whether the caller may administer the keychain, for example lock it, set a passcode or check
    /// it.
    let mayAdminister: Bool
    /// The user whose keychain the caller uses.
    let user: uid_t

    /// The access groups of a request with this claim.
    func caller(_ claim: AccessGroups) -> AccessGroups {
        (claim.includesAll ? everything : entitlements.accessGroups).granted(to: claim)
    }
}

struct EntitlementRules: Sendable {
    let registry: ProgramRegistry
    /// Whether programs that the registry doesn't name get no access. In the machine's service,
    /// this applies to users.
    let isRegistryOnly: Bool
    /// The path of the tool that may use all groups without an entry in the registry, unless
    /// `isRegistryOnly` is set. `nil` if there is none.
    let keychainctl: String?
    /// The units and cgroups in which processes of each user id have been seen.
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

    /// The rights of a peer.
    ///
    /// - Throws: `missingEntitlement` if the peer has no access. The text says why and, where
    ///   possible, how to grant access.
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

    /// The rights in a user's service, whose keychain is always that of its user.
    private func own(_ entitlements: Entitlements, mayAdminister: Bool) -> Rights {
        Rights(
            entitlements: entitlements, everything: entitlements.accessGroups,
            mayAdminister: mayAdminister, user: geteuid())
    }

    /// The rights in the machine's service.
    private func rights(
        of user: uid_t, command: String, unit: String?
    ) throws(KeychainFailure) -> Rights {
        guard !SystemUnit.isShortLived(user) else {
            throw .missingEntitlement(
                "The keychain service gives the user id \(user) no keychain: different units can "
                    + "have this id. Give the unit a User= of its own, without DynamicUser=, or a "
                    + "dedicated socket.")
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
        // Every program of a user may use all of the user's items.
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
            "The keychain service gives \(name) no access: its registry, "
                + "\(quoted(registry.folder)), doesn't name it.")
    }

    /// The entitlements of a program.
    ///
    /// - Throws: `missingEntitlement` if it has none. The text says why.
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
                    + "\(quoted(registry.folder)), doesn't name it. Add it with `keychainctl "
                    + "program add` and the path of the program.")
        }
        if let keychainctl, let tool = Executable(at: keychainctl), program.isSame(as: tool) {
            return Entitlements(
                accessGroups: AccessGroups([
                    EmbeddedKeychain.defaultGroup, AccessGroups.wildcard,
                ]))
        }
        return try ownEntitlements(of: program)
    }

    /// The entitlements in the file beside the program. Without such a file, the default group.
    ///
    /// - Throws: `missingEntitlement` if the file can't be read or is invalid, or if someone other
    ///   than root could have changed the file or the program: root has to own both and all folders
    ///   above them, and no one else may write to any of these.
    private func ownEntitlements(
        of program: Executable
    ) throws(KeychainFailure) -> Entitlements {
        let path = program.path + ".entitlements"
        guard Files.status(ofLink: path) != nil else {
            let code = errno
            // A file whose name would be too long can't exist. After any other error, the file may
            // exist and name other groups than the default one.
            guard [ENOENT, ENOTDIR, ENAMETOOLONG].contains(code) else {
                throw .missingEntitlement(
                    "The keychain service gives \(quoted(program.path)) no access: the "
                        + "entitlements beside it can't be examined: \(errorText(code)).")
            }
            return Entitlements(
                accessGroups: .withoutEntitlements(executable: program.path))
        }
        // If the files aren't protected like this, any program of the user could have written the
        // entitlements. The program doesn't get the default group instead, since it would then no
        // longer find the items that it has stored.
        guard TrustedFile.isRoots(path), TrustedFile.isRoots(program.path) else {
            throw .missingEntitlement(
                "The keychain service gives \(quoted(program.path)) no access: the entitlements "
                    + "beside it are used only if root owns both files and the folders above "
                    + "them, and no one else can write to them. If the entitlements are correct, "
                    + "accept them with `keychainctl program add` and the path of the program.")
        }
        do throws(DistrustedFile) {
            return try registry.entitlements(at: path)
        } catch {
            throw .missingEntitlement(
                "The keychain service gives \(quoted(program.path)) no access: \(error.reason).")
        }
    }
}
