// RuntimeFolder: the user's folder for sockets, also of a program that nobody told about it.
//   (1) The variable XDG_RUNTIME_DIR names it. One that is there and is no absolute path says that
//       there is none.
//   (2) Without the variable, as under cron, it is the folder that the login manager makes, if it
//       belongs to this user and nobody else may enter it.

import Glibc
package import KeychainCrypto

package enum RuntimeFolder: Hashable, Sendable {
    case own(String)
    /// It stands where this user's belongs, and isn't theirs alone.
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

    /// The folder. nil: there is none that is this user's.
    package var path: String? {
        if case .own(let path) = self { path } else { nil }
    }

    /// Where the service of a user listens that has this folder.
    package static func socket(in folder: String) -> String { folder + "/keychain/socket" }
}
