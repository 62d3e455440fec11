// DaemonConfiguration: what a service is told when it starts.

package struct DaemonConfiguration: Hashable, Sendable {
    /// The folder of the keychain, an absolute path.
    package var directory: String
    /// Where to listen, an absolute path of at most 107 bytes.
    package var socket: String

    package init(directory: String, socket: String) {
        self.directory = directory
        self.socket = socket
    }
}
