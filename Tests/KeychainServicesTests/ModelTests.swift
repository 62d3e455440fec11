// ModelTests: behavior of the model that the behavior cases don't cover. The tests also run on the
// real keychains, which must behave in the same way.

import Foundation
import KeychainCore
import KeychainRuntime
import Testing

@Suite struct `The model` {
    private let caller = AccessGroups(["G1", "G2"])

    @Test(arguments: Backend.allCases)
    func `with keepsExisting, an existing item with the same primary key is kept`(
        on backend: Backend
    ) throws {
        let keychain = try backend.open()
        for (group, isSynchronizable) in [
            ("G1", false), ("G2", false), ("G1", true), ("G2", true),
        ] {
            var item = NewItem(
                itemClass: .genericPassword,
                attributes: [.service: .string("s"), .account: .string("a")], accessGroup: group,
                isSynchronizable: isSynchronizable, data: Data("x".utf8))
            item.keepsExisting = true
            let added = try keychain.handler.perform(AddItems([item]), as: caller)
            let kept = try keychain.handler.perform(AddItems([item]), as: caller)
            #expect(kept.map(\.reference) == added.map(\.reference))
            #expect(kept.map(\.accessGroup) == [group])
            #expect(kept.map(\.isSynchronizable) == [isSynchronizable])
        }
    }

    @Test(arguments: Backend.allCases)
    func `HasPasscode reports whether the keychain has a passcode`(on backend: Backend) throws {
        let keychain = try backend.open()
        let before = try keychain.handler.perform(HasPasscode(), as: caller)
        #expect(before)
        try keychain.removePasscode()
        let after = try keychain.handler.perform(HasPasscode(), as: caller)
        #expect(!after)
    }
}
