// The TV remote's manager and credentials, for its tests in each place.

import ExampleTesting
import Keychain
import Testing

@testable import TVRemote

extension Place {
    func manager() -> KeychainManager {
        KeychainManager(in: database())
    }
}

extension TVCredentials {
    static let paired = TVCredentials(
        ipAddress: "192.168.1.20", macAddress: "A8:23:FE:01:02:03", clientKey: "k3y-of-the-tv")
    static let unpaired = TVCredentials(
        ipAddress: "192.168.1.20", macAddress: "A8:23:FE:01:02:03")
}
