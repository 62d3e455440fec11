// shop-server: a server that needs a password to start. It says that it is connected and ends; a real
// one would begin to listen here.

import Foundation
import Shop

/// Takes every password, and shows none.
struct StandIn: DatabaseClient {
    func connect(user: String, password: String) async throws {
        print("connected as \(user), with a password of \(password.utf8.count) bytes")
    }
}

do {
    try await Database(Secrets(), StandIn()).connect()
} catch {
    FileHandle.standardError.write(Data("shop-server: \(error)\n".utf8))
    exit(1)
}
