// EmbeddedKeychain: the keychain that this process opens itself, and this process's entitlements in
// embedded mode.
//   (1) Once the keychain is open, `connection()` always returns it with the same access groups.
//       Until then, each call determines the folder and the entitlements again.
//   (2) A failure to open isn't cached: the next call tries again.
//   (3) Reading items doesn't create a keychain. The first change that needs one does, see
//       `DeferredKeychain`.

import FoundationEssentials
import KeychainCrypto
package import KeychainEngine
package import KeychainCore
import KeychainTPM
import Synchronization

package enum EmbeddedKeychain {
    /// The access group of programs without entitlements.
    package static let defaultGroup = AccessGroups.shared

    /// The environment variable with the folder to use instead of the default one. An absolute
    /// path.
    package static let directoryVariable = "KEYCHAIN_DIRECTORY"
    /// The environment variable with the path of the entitlements to use instead of those beside
    /// the executable.
    package static let entitlementsVariable = "KEYCHAIN_ENTITLEMENTS"

    /// The file that a service creates and keeps locked: a user's service in its keychain's folder,
    /// the machine's service in the folder of all its keychains. It remains when the service ends.
    package static let serviceLockName = "service-lock"

    private static let opened = Mutex<[String: KeychainEngine]>([:])
    private static let deferred = Mutex<[String: DeferredKeychain]>([:])
    private static let current = Mutex<ProcessConnection?>(nil)
    private static let onConversion = Mutex<@Sendable (RequestProgress) -> Void>({ _ in })

    /// Receives the progress of converting a keychain of an earlier version when it is opened, for
    /// programs that show the progress.
    package static var conversionProgress: @Sendable (RequestProgress) -> Void {
        get { onConversion.withLock { $0 } }
        set { onConversion.withLock { $0 = newValue } }
    }

    /// The keychain of this process, with the access groups of its entitlements.
    /// - Throws: The errors of ``location(_:)`` and ``entitlements(_:)``, and those of opening.
    package static func connection() throws(KeychainFailure) -> ProcessConnection {
        if let connection = current.withLock({ $0 }) { return connection }
        let connection = ProcessConnection(
            handler: try keychain(in: try location().directory),
            caller: try entitlements().accessGroups)
        if case .engine = connection.handler { current.withLock { $0 = connection } }
        return connection
    }

    /// The keychain of a folder. If it doesn't exist, the first change that needs it creates it.
    package static func keychain(
        in directory: String
    ) throws(KeychainFailure) -> KeychainHandler {
        if let engine = try existingEngine(in: directory) { return .engine(engine) }
        return deferred.withLock { deferred in
            if let keychain = deferred[directory] { return .deferred(keychain) }
            let keychain = DeferredKeychain(directory: directory)
            deferred[directory] = keychain
            return .deferred(keychain)
        }
    }

    /// The engine of this process for a folder, which all callers share. `nil` if the folder
    /// doesn't contain a keychain.
    package static func existingEngine(
        in directory: String
    ) throws(KeychainFailure) -> KeychainEngine? {
        if let engine = opened.withLock({ $0[directory] }) { return engine }
        return try KeychainEngine.isPresent(in: directory) ? engine(in: directory) : nil
    }

    /// The engine of this process for a folder, which all callers share. The keychain is created if
    /// there is none.
    package static func engine(in directory: String) throws(KeychainFailure) -> KeychainEngine {
        try opened.withLock { engines throws(KeychainFailure) in
            if let engine = engines[directory] { return engine }
            let engine = try KeychainEngine.open(
                directory: directory, options: .ofThisMachine)
            engines[directory] = engine
            return engine
        }
    }

    /// Where freshness notes are kept.
    package static func freshness(
        _ environment: [String: String] = ProcessEnvironment.variables
    ) -> FreshnessOptions {
        FreshnessOptions(folder: RuntimeFolder(environment).path.map { $0 + "/keychain" })
    }

    // MARK: Location

    /// The folder of the keychain, and what determined it.
    package struct Location: Hashable, Sendable {
        package let directory: String
        package let reason: String

        package init(directory: String, reason: String) {
            self.directory = directory
            self.reason = reason
        }
    }

    /// The folder of this process's keychain: `KEYCHAIN_DIRECTORY`, else the folder `keychain` in
    /// `XDG_DATA_HOME` if this variable is an absolute path, else `.local/share/keychain` in the
    /// home folder.
    /// - Throws: `param` if `KEYCHAIN_DIRECTORY` isn't an absolute path or there is no home folder.
    package static func location(
        _ environment: [String: String] = ProcessEnvironment.variables
    ) throws(KeychainFailure) -> Location {
        if let chosen = environment[directoryVariable], !chosen.isEmpty {
            guard chosen.hasPrefix("/") else {
                throw .param("\(directoryVariable) must be an absolute path.")
            }
            return Location(directory: chosen, reason: "the variable \(directoryVariable)")
        }
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
            return Location(directory: data + "/keychain", reason: "the variable XDG_DATA_HOME")
        }
        guard let home = ProcessEnvironment.home(environment) else {
            throw .param(
                "This user has no home folder, neither in HOME nor in the user database. Set "
                    + "\(directoryVariable) to the folder of the keychain.")
        }
        return Location(
            directory: home + "/.local/share/keychain", reason: "the default for this user")
    }

    // MARK: Entitlements

    /// Where the entitlements come from.
    package enum EntitlementsSource: Hashable, Sendable {
        case variable(String)
        case besideExecutable(String)
        case none
    }

    package static func entitlementsSource(
        _ environment: [String: String] = ProcessEnvironment.variables
    ) -> EntitlementsSource {
        if let path = environment[entitlementsVariable], !path.isEmpty { return .variable(path) }
        if let path = executablePath.map({ $0 + ".entitlements" }),
            FileManager.default.fileExists(atPath: path)
        {
            return .besideExecutable(path)
        }
        return .none
    }

    /// The entitlements of this process.
    /// - Throws: `missingEntitlement` if the property list can't be read or isn't valid, or if
    ///   `KEYCHAIN_ENTITLEMENTS` names a file that doesn't exist. The program then gets no access
    ///   group, not even that of programs without entitlements.
    package static func entitlements(
        _ environment: [String: String] = ProcessEnvironment.variables
    ) throws(KeychainFailure) -> Entitlements {
        switch entitlementsSource(environment) {
        case .none:
            return Entitlements(
                accessGroups: .withoutEntitlements(executable: executablePath))
        case .variable(let path), .besideExecutable(let path):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw .missingEntitlement("The entitlements \(path) can't be read.")
            }
            return try Entitlements(propertyList: data, name: path)
        }
    }

    /// The path of this program's executable.
    package static var executablePath: String? {
        Files.target(ofLink: "/proc/self/exe")
    }
}

extension EngineOptions {
    /// Options with the chip and the identity of the machine that this process runs on, and with
    /// synchronization if this program was built with it.
    package static var ofThisMachine: EngineOptions {
        let chip = PlatformHardware.current
        return EngineOptions(
            hardware: chip, machine: .current(chip: chip), credential: { ServiceCredential.read() },
            freshness: EmbeddedKeychain.freshness(),
            conversionProgress: EmbeddedKeychain.conversionProgress
        ).withSynchronization
    }
}
