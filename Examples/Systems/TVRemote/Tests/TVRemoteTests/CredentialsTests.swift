// CredentialsTests: saving, loading and clearing the credentials of the television.

import Foundation
import KeychainTesting
import Testing

@testable import TVRemote

@Suite(.cleanKeychain) struct `Credentials` {
    let manager = LGTVControlManager()

    static let all: [TVCredentials] = [
        .paired, .unpaired, TVCredentials(ipAddress: "", macAddress: "", clientKey: ""),
        TVCredentials(ipAddress: "fe80::1", macAddress: "телевизор", clientKey: "ключ"),
    ]

    @Test(arguments: all)
    func `credentials load as they were saved`(_ credentials: TVCredentials) throws {
        try manager.saveCredentials(credentials)
        #expect(try manager.loadCredentials() == credentials)
        #expect(try LGTVControlManager().loadCredentials() == credentials)
    }

    @Test func `absent and cleared credentials load as nil`() throws {
        #expect(try manager.loadCredentials() == nil)
        try manager.saveCredentials(.paired)
        try manager.clearCredentials()
        #expect(try manager.loadCredentials() == nil)
        try manager.clearCredentials()
    }

    @Test func `credentials are stored as one item under the app's service and account`() throws {
        try manager.saveCredentials(.paired)
        try manager.saveCredentials(.unpaired)
        let items = try TestKeychain.current.items()
        #expect(items.count == 1)
        #expect(items.first?.service == "com.DaraConsultingInc.LGTVRemoteWidget.credentials")
        #expect(items.first?.account == "default")
        #expect(
            LGTVControlManager.Constants.keychainService
                == "com.DaraConsultingInc.LGTVRemoteWidget.credentials")
        #expect(LGTVControlManager.Constants.keychainAccount == "default")
    }

    @Test func `the shared manager uses port 3000 and a time limit of one minute`() {
        #expect(LGTVControlManager.shared === LGTVControlManager.shared)
        #expect(LGTVControlManager.shared.port == 3000)
        #expect(LGTVControlManager.shared.timeLimit == .seconds(60))
    }

    @Test func `credentials that can't be deleted cause an error and are kept`() throws {
        try manager.saveCredentials(.paired)
        TestKeychain.current.inject(.failure(.ioError), into: .delete, times: 1)
        #expect(status { try manager.clearCredentials() } == -36)
        #expect(try manager.loadCredentials() == .paired)
    }

    @Test func `no description or dump shows the client key`() {
        var dumped = ""
        dump(TVCredentials.paired, to: &dumped)
        for text in ["\(TVCredentials.paired)", String(reflecting: TVCredentials.paired), dumped] {
            #expect(text.contains("10.0.0.14"))
            #expect(!text.contains("9ba71d29c353cf0bdcc00c4b0a8cc189"))
        }
        #expect("\(TVCredentials.paired)" == "10.0.0.14 (34:E6:E6:F9:05:50), paired")
        #expect("\(TVCredentials.unpaired)" == "10.0.0.14 (34:E6:E6:F9:05:50), not paired")
    }
}
