// SectionE: how the dictionaries of calls are read, and which of their keys are refused.

import Foundation
import KeychainAuthentication
import KeychainServices
import Testing

private func withItem(_ k: Client, _ more: Entries = [:]) {
    k.add(GP("a", "s", ["data": bytes("x")].merging(more) { $1 })).gives(0)
}

private func withEachCall(
    _ k: Client, _ entries: Entries, give status: OSStatus,
    source: SourceLocation = #_sourceLocation
) {
    k.add(entries).gives(status, source)
    k.copy(entries).gives(status, source)
    k.update(entries, ["labl": "x"]).gives(status, source)
    k.delete(entries).gives(status, source)
}

let sectionE: [Row] = [
    Row(73, "a dictionary without a class is refused") { k in
        withEachCall(k, ["svc": "s"], give: -50)
    },
    Row(74, "an unknown class is refused") { k in
        withEachCall(k, ["class": "xxxx"], give: -25306)
    },
    Row(76, "an attribute of another class can't be added") { k in
        k.add(["class": "cert", "data": bytes("x"), "atag": "x"]).gives(-25303)
        k.add(GP("a", "s", ["srvr": "h"])).gives(-25303)
        k.add(inet(["gena": "g"])).gives(-25303)
    },
    Row(77, "an attribute of another class is refused in a delete") { k in
        k.delete(["class": "cert", "atag": "x"]).gives(-25303)
        k.delete(genp(["path": "x"])).gives(-25303)
    },
    Row(79, "an unknown key of four characters is refused with errSecNoSuchAttr") { k in
        withEachCall(k, genp(["zzzz": "v"]), give: -25303)
    },
    Row(80, "an unknown key of six characters without a known prefix is refused") { k in
        withEachCall(k, genp(["banana": "v"]), give: -50)
    },
    Row(82, "an unknown key that begins with m is treated as a match key") { k in
        withItem(k)
        k.copy(GP("a", "s", ["mystery": "v"])).gives(0)
        k.update(GP("a", "s", ["mystery": "v"]), ["labl": "x"]).gives(-50)
        k.delete(GP("a", "s", ["mystery": "v"])).gives(-50)
    },
    Row(83, "a key of one character or none is refused") { k in
        withEachCall(k, genp(["x": "v"]), give: -50)
        withEachCall(k, genp(["": "v"]), give: -50)
        withEachCall(k, genp(["m": "v"]), give: -50)
    },
    Row(85, "match keys of file-based keychains are ignored") { k in
        withItem(k)
        k.copy(GP("a", "s", ["m_ItemList": [1]])).gives(0)
        k.copy(GP("a", "s", ["m_SearchList": [1], "m_SubjectContains": "x"])).gives(0)
    },
    Row(86, "a search is case-sensitive in spite of kSecMatchCaseInsensitive") { k in
        withItem(k, ["labl": "Foo"])
        k.copy(genp(["labl": "foo", "m_CaseInsensitive": true])).gives(-25300)
        k.copy(genp(["labl": "Foo", "m_CaseInsensitive": true])).gives(0)
    },
    Row(88, "a search takes no item list") { k in
        withItem(k)
        k.copy(genp(["u_ItemList": [1]])).gives(-50)
    },
    Row(89, "an update takes no item list") { k in
        withItem(k)
        k.update(genp(["u_ItemList": [1]]), ["labl": "x"]).gives(-50)
    },
    // Differences.md: for an add with a match key or an item list, Apple's source reports success
    // and adds nothing. ItemListTests tests how this package carries out an add with an item list.
    Row(91, "an add takes no match key") { k in
        k.add(GP("a", "s", ["data": bytes("x"), "limit": one])).gives(-50)
        k.add(GP("a", "s", ["data": bytes("x"), "u_ItemList": [1]])).gives(-50)
        k.copy(genp()).gives(-25300)
    },
    Row(92, "an unknown use key is refused") { k in
        withEachCall(k, genp(["u_Foo": 1]), give: -50)
    },
    Row(94, "an unknown value key is refused") { k in
        withEachCall(k, genp(["v_Foo": bytes("x")]), give: -50)
    },
    Row(95, "a dictionary has 128 entries at most") { k in
        withItem(k)
        var entries = GP("a", "s")
        for index in entries.count..<128 { entries["filler\(index)"] = 0 }
        #expect(entries.count == 128)
        k.copy(entries).gives(0)
        entries["flower"] = 0
        k.copy(entries).gives(-50)
    },
    Row(97, "an access control that isn't a SecAccessControl is refused") { k in
        withEachCall(k, GP("a", "s", ["accc": "string"]), give: -50)
        k.add(GP("a", "s")).gives(0)
        k.update(GP("a", "s"), ["accc": 1]).gives(-50)
    },
    Row(98, "the app clip attribute is refused in every call") { k in
        withEachCall(k, GP("a", "s", ["clip": true]), give: -50)
        k.update(GP("a", "s"), ["clip": true]).gives(-50)
    },
    Row(100, "the sharing group can't be changed") { k in
        withItem(k)
        k.update(GP("a", "s"), ["ggrp": "g"]).gives(-50)
    },
    Row(101, "an unknown protection class is refused") { k in
        withEachCall(k, GP("a", "s", ["pdmn": "bogus"]), give: -50)
        withEachCall(k, GP("a", "s", ["pdmn": 5]), give: -50)
    },
    Row(103, "a synchronizable item with constraints can't be added") { k in
        let control = try #require(accessControl("ak", .userPresence))
        k.add(GP("a", "s", ["sync": true, "accc": control])).gives(-50)
        k.copy(genp(["sync": any])).gives(-25300)
    },
    Row(104, "only a search can skip authentication") { k in
        withItem(k)
        k.add(GP("b", "s", ["authUI": "u_AuthUIS"])).gives(-50)
        k.update(GP("a", "s", ["authUI": "u_AuthUIS"]), ["labl": "x"]).gives(-50)
        k.delete(GP("a", "s", ["authUI": "u_AuthUIS"])).gives(-50)
        k.copy(GP("a", "s", ["authUI": "u_AuthUIS"])).gives(0)
    },
]

/// An access control, or `nil` if the protection class or the flags are refused.
func accessControl(
    _ protection: String, _ flags: SecAccessControlCreateFlags = []
) -> SecAccessControl? {
    try? SecAccessControl(protection: protection, flags: flags)
}

@Suite("E. Reading dictionaries") struct SectionE {
    @Test(.cases(4 * 22), arguments: Backend.allCases, sectionE)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `values of the kSecUse keys are checked`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withItem(k)
        for value in ["u_AuthUIA", "u_AuthUIF"] {
            k.copy(GP("a", "s", ["authUI": value])).gives(0)
        }
        withEachCall(k, GP("b", "s", ["authUI": "always"]), give: -50)
        withEachCall(k, GP("b", "s", ["authUI": 1]), give: -50)
        withEachCall(
            k, GP("b", "s", ["u_AuthCtx": LAContext(), "u_CredRef": Data()]), give: -50)
        withEachCall(k, GP("b", "s", ["u_AuthCtx": NSObject()]), give: -50)
        withEachCall(k, GP("b", "s", ["u_AuthCtx": NSNull()]), give: -50)
        withEachCall(k, GP("b", "s", ["u_OpPrompt": 1]), give: -50)
        withEachCall(k, GP("b", "s", ["u_NoAuthUI": "no"]), give: -50)
        // SecDbQuery.c, query_add_use: a credential reference is data.
        withEachCall(k, GP("b", "s", ["u_CredRef": "text"]), give: -50)
        k.copy(GP("a", "s", ["u_CredRef": Data()])).gives(0)
        k.copy(GP("a", "s", ["u_AuthCtx": LAContext(), "u_OpPrompt": "why"])).gives(0)
        k.copy(GP("a", "s", ["nleg": true])).gives(0)
        k.copy(GP("a", "s", ["nleg": false, "u_NoAuthUI": true])).gives(0)
        k.delete(GP("a", "s", ["u_ItemList": [1], "R.data": true])).gives(0)
    }

    @Test(arguments: Backend.allCases)
    func `a class that isn't text is refused, and so is a key that is unknown or isn't text`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withEachCall(k, ["class": 5], give: -50)
        withEachCall(k, ["class": NSNull()], give: -50)
        withEachCall(k, genp(["clss": "genp"]), give: -25303)
        withEachCall(k, genp(["clazz": "genp"]), give: -50)
        let numbered: NSDictionary = ["class": "genp", 5: 6]
        k.withKeychain {
            #expect(SecItemDelete(numbered) == -50)
            #expect(SecItemAdd(numbered, nil) == -50)
            #expect(SecItemCopyMatching(numbered, nil) == -50)
            #expect(SecItemUpdate(["class": "genp"] as NSDictionary, numbered) == -50)
        }
    }

    @Test(arguments: Backend.allCases)
    func `protection class and access control must agree`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let ck = try #require(accessControl("ck"))
        withEachCall(k, GP("a", "s", ["pdmn": "ak", "accc": ck]), give: -50)
        k.add(GP("a", "s", ["pdmn": "ck", "accc": ck])).gives(0)
        k.update(GP("a", "s"), ["pdmn": "ak", "accc": ck]).gives(-50)
    }

    @Test(arguments: Backend.allCases)
    func `a wrong value is reported before an unsuitable attribute, but after an unknown class`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        for key in ["aaaa", "yyyy", "zzzz", "srvr"] {
            withEachCall(k, genp([key: "v", "acct": true]), give: -50)
            withEachCall(k, ["class": "xxxx", key: "v", "acct": true], give: -25306)
        }
    }

    @Test(arguments: Backend.allCases)
    func `an unsupported feature is reported only after all other checks`(on backend: Backend)
        throws
    {
        let k = Client(try backend.open(), groups: ["G1"])
        // A reference to an object on a token, with one byte in place of the object's DER.
        let token = bytes("tkpr") + bytes("x")
        k.copy(["pref": token]).gives(-4)
        k.update(["pref": token], ["labl": "x"]).gives(-4)
        k.delete(["pref": token]).gives(-4)
        withEachCall(k, ["pref": token, "clip": 1], give: -50)
        k.copy(["pref": token, "sync": true, "ggrp": "x"]).gives(-50)
        k.update(["pref": token, "R.data": true], ["labl": "x"]).gives(-50)
        k.update(["pref": token], ["acct": true]).gives(-50)
        k.update(["pref": token], ["R.data": true]).gives(-25303)
        k.delete(["pref": token, "m_Other": true]).gives(-50)
        // A class in the query changes nothing: the call still fails, and no other item is found or
        // changed.
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        for name in ["genp", "inet", "cert", "keys", "idnt"] {
            let entries: Entries = ["class": name, "pref": token]
            k.copy(entries).gives(-4)
            k.update(entries, ["labl": "x"]).gives(-4)
            k.delete(entries).gives(-4)
            k.update(entries, ["clip": 1]).gives(-50)
            k.update(entries, ["zzzz": "x"]).gives(-25303)
            k.delete(entries.merging(["m_Other": true]) { $1 }).gives(-50)
        }
        k.copy(genp(["labl": "x"])).gives(-25300)
        k.copy(genp(["acct": "a"])).gives(0)
        k.add(keys(["tkid": "com.apple.setoken", "type": "73"])).gives(-4)
        k.add(keys(["tkid": "com.apple.setoken", "klbl": true])).gives(-50)
        k.copy(genp(["host": "h"])).gives(-4)
        k.copy(genp(["host": "h", "acct": true])).gives(-50)
        withEachCall(k, ["ref": NSObject()], give: -50)
        for name in ["cert", "keys", "idnt"] {
            withEachCall(k, ["class": name, "svce": "x"], give: -25303)
            withEachCall(k, ["class": name, "clip": 1], give: -50)
        }
    }
}
