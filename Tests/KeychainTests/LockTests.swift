// Access to items while the keychain is locked.

import Foundation
import Testing

@testable import Keychain

@Suite struct LockTests {
    @Test(arguments: Way.allCases)
    func `reading or writing a locked item reports the lock and changes nothing`(way: Way) throws {
        let database = try TestDatabase(way)
        let keychain = database.keychain()
        try keychain.save("1234", for: .pin)
        let before = try keychain.item(.pin)
        try database.lock()
        let codes = [
            failure { _ = try keychain.load(.pin) },
            failure { try keychain.save("0000", for: .pin) },
            failure { try keychain.add("0000", for: .pin) },
            failure { _ = try keychain.load(.pin, orAdd: { "0000" }) },
            failure { _ = try keychain.exists(.pin) },
            failure { _ = try keychain.item(.pin) },
            failure { _ = try keychain.items() },
            failure { try keychain.update(.pin) { $0 = "0000" } },
            failure { try keychain.compareExchange(expected: "1234", desired: nil, for: .pin) },
        ].map { $0?.code }
        #expect(codes == Array(repeating: .interactionNotAllowed, count: 9))
        try database.unlock()
        #expect(try keychain.load(.pin) == "1234")
        #expect(try keychain.item(.pin) == before)
    }

    @Test(arguments: Way.allCases)
    func `a lock doesn't affect items that are readable after first unlock`(way: Way) throws {
        let database = try TestDatabase(way)
        let keychain = database.keychain()
        try keychain.save("x", for: .token)
        try database.lock()
        #expect(try keychain.load(.token) == "x")
        try keychain.save("y", for: .token)
        #expect(try keychain.load(.token) == "y")
    }

    @Test(arguments: Way.allCases)
    func `a locked item can be deleted`(way: Way) throws {
        let database = try TestDatabase(way)
        let keychain = database.keychain()
        try keychain.save("1234", for: .pin)
        try database.lock()
        #expect(try keychain.delete(.pin))
        try database.unlock()
        #expect(try keychain.load(.pin) == nil)
    }
}
