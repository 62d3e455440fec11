// ReservedAttributeTests: attributes that Apple reserves for programs with a special entitlement.

import Foundation
import KeychainServices
import Testing

@Suite struct `Reserved attributes` {
    static let reserved: [(key: String, value: any Hashable & Sendable)] = [
        ("sysb", 1), ("pcss", 7), ("pcsk", Data([1])), ("pcsi", Data([2])),
    ]

    @Test(arguments: Backend.allCases)
    func `attributes that Apple reserves are stored like any other`(_ backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        for (key, value) in Self.reserved {
            k.add(GP(key, "added", [key: value])).gives(0)
            k.add(GP(key, "changed")).gives(0)
            k.update(GP(key, "changed"), [key: value]).gives(0)
            for service in ["added", "changed"] {
                let item = GP(key, service, ["R.attrs": true])
                let found = try k.copy(item).givesDictionary()
                #expect(found[key] as? NSObject == value as? NSObject, "\(key) in \(service)")
            }
        }
    }
}
