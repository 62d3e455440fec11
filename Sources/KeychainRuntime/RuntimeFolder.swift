// RuntimeFolder: the user's folder for sockets, which is found even if the environment doesn't name
// it.
//   (1) The variable XDG_RUNTIME_DIR names the folder. If the variable's value isn't an absolute
//       path, the user counts as having no folder.
//   (2) Without the variable, as under cron, it is the folder that the login manager creates,
//       provided that it belongs to this user and its mode gives other users no access.

import Glibc
package import KeychainCrypto

package enum RuntimeFolder: Hashable, Sendable {
    case own(String)
    /// The path at which the login manager creates this user's folder. What is there isn't a
    /// folder, belongs to another user, or is accessible to other users.
    case foreign(String)
    case none

    private static let variable = "XDG_RUNTIME_DIR"

    package init(
        _ environment: [String: String] = ProcessEnvironment.variables,
        status: (String) -> FileStatus? = { Files.status(ofLink: $0) }
    ) {
        if let named = environment[Self.variable] {
            self = named.hasPrefix("/") ? .own(named) : .none
            return
        }
        let path = "/run/user/\(geteuid())"
        guard let status = status(path) else {
            self = .none
            return
        }
        let isOwn = status.isFolder && status.owner == geteuid() && status.mode & 0o077 == 0
        self = isOwn ? .own(path) : .foreign(path)
    }

    /// The folder if it is the user's own, otherwise `nil`.
    package var path: String? {
        if case .own(let path) = self { path } else { nil }
    }

    /// The socket of the user's service in a runtime folder.
    package static func socket(in folder: String) -> String { folder + "/keychain/socket" }
}
