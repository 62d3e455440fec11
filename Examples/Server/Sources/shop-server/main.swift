// shop-server: a server that needs a password to start. It reports that it is connected and exits;
// a real server would start listening here.

import Foundation
import Shop

/// Accepts every password, and prints none.
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
