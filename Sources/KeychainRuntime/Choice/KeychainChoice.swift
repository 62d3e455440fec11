// KeychainChoice: whether a process opens the keychain itself or asks the service for it.
//   (1) The first rule that says anything decides:
//         the variable KEYCHAIN_SERVICE; the variable KEYCHAIN_DIRECTORY; the configuration file;
//         the socket of the user's service; that of the machine's; else the process itself.
//   (2) It is decided once for a process and stays. A failure to decide is not remembered.
//   (3) A socket that is there is used. Where it doesn't answer, requests fail: a keychain in
//       another place would look as if everything was gone.

import Foundation
package import KeychainCore
import Synchronization

/// Which keychain a process uses, and what decided it.
package struct KeychainChoice: Hashable, Sendable {
    package enum Mode: Hashable, Sendable {
        /// The process opens the keychain's folder itself.
        case embedded
        /// A service has it open, and listens on this socket, an absolute path.
        case service(socket: String)
    }

    package let mode: Mode
    /// What decided it, to follow “by”: a variable, a file, or that nothing else is there.
    package let reason: String

    package init(_ mode: Mode, reason: String) {
        self.mode = mode
        self.reason = reason
    }

    /// The variable that says `embedded`, or where the socket of a service is.
    package static let variable = "KEYCHAIN_SERVICE"
    /// What the variable and the configuration file call the mode without a service.
    package static let embeddedName = "embedded"
    /// Where the machine's service listens.
    package static let systemSocket = "/run/keychaind/socket"

    private static let decided = Mutex<KeychainChoice?>(nil)

    /// The choice of this process.
    /// - Throws: `param` for a variable or a configuration file that can't be followed.
    package static func current() throws(KeychainFailure) -> KeychainChoice {
        try decided.withLock { decided throws(KeychainFailure) in
            if let choice = decided { return choice }
            let choice = try KeychainChoice(ChoiceSurroundings())
            decided = choice
            return choice
        }
    }

    /// Decides by the surroundings of a process.
    /// - Throws: `param` for a variable or a configuration file that can't be followed.
    package init(_ surroundings: ChoiceSurroundings) throws(KeychainFailure) {
        if let value = surroundings.variable(Self.variable) {
            let reason = "the variable \(Self.variable)"
            guard let mode = Mode(value) else {
                throw .param(
                    "\(Self.variable) must be “\(Self.embeddedName)” or the absolute path of a "
                        + "socket.")
            }
            self.init(mode, reason: reason)
        } else if surroundings.variable(EmbeddedKeychain.directoryVariable) != nil {
            self.init(.embedded, reason: "the variable \(EmbeddedKeychain.directoryVariable)")
        } else if let configured = try surroundings.configuration() {
            self = configured
        } else if let socket = surroundings.userSocket, surroundings.exists(socket) {
            self.init(.service(socket: socket), reason: "the socket of this user's service")
        } else if surroundings.exists(Self.systemSocket) {
            self.init(
                .service(socket: Self.systemSocket),
                reason: "the socket of the machine's service")
        } else {
            self.init(.embedded, reason: "the default, as there is no socket of a service")
        }
    }
}

extension KeychainChoice.Mode {
    /// What the variable or the configuration file say.
    /// - Returns: nil for a text that is neither `embedded` nor an absolute path.
    init?(_ text: String) {
        if text == KeychainChoice.embeddedName {
            self = .embedded
        } else if text.hasPrefix("/") {
            self = .service(socket: text)
        } else {
            return nil
        }
    }
}
