// ChoiceSurroundings: what of a process and its machine decides which keychain it uses.

package import Foundation
import KeychainCrypto
package import KeychainCore

/// Variables, files and sockets, as a process sees them; a test hands in its own.
package struct ChoiceSurroundings: Sendable {
    private let environment: [String: String]
    /// Whether there is anything of that name.
    let exists: @Sendable (String) -> Bool
    /// The content of a file. nil: there is none.
    private let read: @Sendable (String) throws(KeychainFailure) -> Data?

    package init(
        environment: [String: String] = ProcessEnvironment.variables,
        exists: @escaping @Sendable (String) -> Bool = { FilePresence.isThere($0) },
        read: @escaping @Sendable (String) throws(KeychainFailure) -> Data? =
            ChoiceSurroundings.content
    ) {
        self.environment = environment
        self.exists = exists
        self.read = read
    }

    /// The value of a variable. An empty one counts as none.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func folder(_ name: String) -> String? {
        variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Where the service of this user listens. nil: this user has no folder for sockets.
    var userSocket: String? { folder("XDG_RUNTIME_DIR").map { $0 + "/keychain/socket" } }

    /// The configuration file, whether it is there or not.
    var configurationPath: String {
        let folder =
            folder("XDG_CONFIG_HOME") ?? (ProcessEnvironment.home(environment) ?? "") + "/.config"
        return folder + "/keychain/config.json"
    }

    // MARK: Files

    /// What the configuration file decides. nil: there is none, or it leaves this open.
    func configuration() throws(KeychainFailure) -> KeychainChoice? {
        let path = configurationPath
        guard let data = try read(path) else { return nil }
        let settings: Settings
        do {
            settings = try JSONDecoder().decode(Settings.self, from: data)
        } catch {
            throw .param("The configuration file \(path) isn't JSON of the form {\"service\": …}.")
        }
        guard let service = settings.service else { return nil }
        guard let mode = KeychainChoice.Mode(service) else {
            throw .param(
                "In the configuration file \(path), “service” must be "
                    + "“\(KeychainChoice.embeddedName)” or the absolute path of a socket.")
        }
        return KeychainChoice(mode, reason: "the configuration file \(path)")
    }

    private struct Settings: Decodable {
        var service: String?
    }

    /// The largest configuration file that is read, in bytes.
    private static let configurationByteCount = 64 << 10

    /// - Throws: `param` for a file that can't be read: it may say something else than the default.
    package static func content(_ path: String) throws(KeychainFailure) -> Data? {
        guard FilePresence.isThere(path) else { return nil }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw .param("The configuration file \(path) can't be read.")
        }
        do {
            let data = try file.read(upToCount: configurationByteCount + 1) ?? Data()
            guard data.count <= configurationByteCount else {
                throw KeychainFailure.param(
                    "The configuration file \(path) has more than \(configurationByteCount) bytes.")
            }
            return data
        } catch let failure as KeychainFailure {
            throw failure
        } catch {
            throw .param("The configuration file \(path) can't be read.")
        }
    }
}
