import Foundation
import Keychain
import KeychainTesting

public func demo() throws -> String? { try Keychain(service: "x", in: TestKeychain().database).load(for: "a") }
