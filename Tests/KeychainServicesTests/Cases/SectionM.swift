// SectionM: protection classes and lock state.

import Foundation
import KeychainServices
import Testing

private func withItem(_ k: Client, _ protection: String) {
    k.add(GP("a", "s", ["pdmn": protection, "data": bytes("x")])).gives(0)
}

/// Checks that an item of a protection class has that class and its data.
private func keeps(_ number: Int, _ protection: String) -> Row {
    Row(number, "an item of class \(protection) is returned with its class and data") { k in
        withItem(k, protection)
        let found = try k.copy(GP("a", "s", ["R.attrs": true, "R.data": true])).givesDictionary()
        #expect(found["pdmn"] as? String == protection)
        #expect(found["v_Data"] as? Data == bytes("x"))
        #expect(found["accc"] as? SecAccessControl == accessControl(protection))
    }
}

let sectionM: [Row] = [
    Row(284, "the default protection class of a certificate is dk") { k in
        k.add(cert(["issr": bytes("i"), "data": bytes("x")])).gives(0)
        let attributes = try k.copy(cert(["R.attrs": true])).givesDictionary()
        #expect(attributes["pdmn"] as? String == "dk")
    },
    Row(283, "the default protection class of a password is ak") { k in
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        #expect(found["pdmn"] as? String == "ak")
    },
    keeps(286, "ck"),
    keeps(287, "dk"),
    keeps(289, "cku"),
    keeps(290, "dku"),
    Row(292, "a locked item's data and attributes can't be read") { k in
        withItem(k, "ak")
        try k.keychain.lock()
        k.copy(GP("a", "s", ["R.data": true])).gives(-25308)
        k.copy(GP("a", "s", ["R.attrs": true])).gives(-25308)
    },
    Row(293, "a search can't determine whether a locked item exists") { k in
        withItem(k, "ak")
        try k.keychain.lock()
        k.copy(GP("a", "s")).gives(-25308)
    },
    Row(295, "an item of class dk is readable while locked and before the first unlock") { k in
        withItem(k, "dk")
        try k.keychain.lock()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
        try k.keychain.restart()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    Row(296, "an item of class ck is locked only until the first unlock") { k in
        withItem(k, "ck")
        try k.keychain.restart()
        k.copy(GP("a", "s", ["R.data": true])).gives(-25308)
        try k.keychain.unlock()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
        try k.keychain.lock()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    Row(298, "an item of class ak can't be added while the keychain is locked") { k in
        try k.keychain.lock()
        k.add(GP("a", "s", ["pdmn": "ak"])).gives(-25308)
        try k.keychain.unlock()
        k.copy(GP("a", "s")).gives(-25300)
    },
    Row(299, "adding a duplicate of a locked item reports the lock") { k in
        withItem(k, "ak")
        try k.keychain.lock()
        k.add(GP("a", "s", ["pdmn": "ak"])).gives(-25308)
    },
    Row(301, "an item of class ck can be added while the keychain is locked") { k in
        try k.keychain.lock()
        k.add(GP("a", "s", ["pdmn": "ck", "data": bytes("x")])).gives(0)
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    Row(302, "a search fails at a locked item instead of skipping the item") { k in
        k.add(GP("a", "s", ["pdmn": "ak"])).gives(0)
        k.add(GP("b", "s", ["pdmn": "ck"])).gives(0)
        try k.keychain.lock()
        k.copy(genp(["svc": "s", "limit": all, "R.attrs": true])).gives(-25308)
    },
    Row(304, "a locked item can be read again after an unlock") { k in
        withItem(k, "ak")
        try k.keychain.lock()
        try k.keychain.unlock()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    // Differences.md: Apple's current source and an older test have different statuses. This status
    // is from the current source.
    Row(305, "an item that needs a passcode can't be added without a passcode") { k in
        try k.keychain.removePasscode()
        k.add(GP("a", "s", ["pdmn": "akpu"])).gives(-25293)
        k.copy(GP("a", "s")).gives(-25300)
    },
    // Case 307 is left out. Unlike Apple's keychain, this one deletes the item when the passcode is
    // removed (Differences.md).
    Row(308, "items that need a passcode are deleted with the passcode and don't come back") { k in
        withItem(k, "akpu")
        k.add(GP("b", "s")).gives(0)
        try k.keychain.removePasscode()
        try k.keychain.setPasscode()
        k.copy(GP("a", "s")).gives(-25300)
        k.copy(GP("b", "s")).gives(0)
        withItem(k, "akpu")
    },
]

@Suite("M. Protection classes and lock state") struct SectionM {
    @Test(.cases(4 * 17), arguments: Backend.allCases, sectionM)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }
}
