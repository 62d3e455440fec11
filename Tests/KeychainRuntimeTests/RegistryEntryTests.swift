// RegistryEntryTests: the names of units and sandboxes that an entry of the registry can have.

import Foundation
import KeychainRuntime
import Testing

@Suite struct RegistryEntryTests {
    private func entry(_ key: String, _ name: String) throws -> RegistryEntry {
        try RegistryEntry(
            Data(#"{"\#(key)": "\#(name)", "entitlements": "a.entitlements"}"#.utf8),
            file: "/programs/a.json")
    }

    @Test(arguments: [
        ("unit", ".service", "names a unit"), ("unit", "a/b.service", "names a unit"),
        ("unit", "a.socket", "names a unit"), ("sandbox", "flatpak:", "has a sandbox"),
        ("sandbox", "snap:", "has a sandbox"), ("sandbox", "a", "has a sandbox"),
    ])
    func `an incomplete name of a unit or sandbox is refused`(
        key: String, name: String, reason: String
    ) throws {
        let failure = try #require(throws: DistrustedFile.self) { try entry(key, name) }
        #expect(failure.reason.contains(reason), "\(failure.reason)")
    }

    @Test(arguments: [("unit", "a.service"), ("sandbox", "flatpak:a"), ("sandbox", "snap:a")])
    func `a complete name of a unit or sandbox is accepted`(key: String, name: String) throws {
        _ = try entry(key, name)
    }
}
