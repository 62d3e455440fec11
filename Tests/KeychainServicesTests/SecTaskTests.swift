// SecTaskTests: a program's access to its own entitlements.

#if !canImport(Darwin)

import Foundation
import KeychainEngine
import KeychainCore
import Testing

@testable import KeychainServices

@Suite struct SecTaskTests {
    private static var list: [String: Any] {
        [
            "com.apple.developer.team-identifier": "TEAM",
            "keychain-access-groups": ["$(AppIdentifierPrefix)shared", "plain"],
            "com.apple.security.app-sandbox": true, "number": 7, "real": 0.5,
            "date": Date(timeIntervalSinceReferenceDate: 7), "data": Data([1, 2]),
            "nested": ["list": [1, "two", ["three": false]]],
        ]
    }

    private func value(
        _ key: String, of entitlements: Result<Entitlements, KeychainFailure>
    ) -> (object: CFTypeRef?, error: CFError?) {
        var error: Unmanaged<CFError>?
        // SAFETY: the variable outlives the call, and the caller owns the error that is stored.
        let object = unsafe SecTaskCopyValueForEntitlement(
            SecTask(entitlements), key as CFString, &error)
        return (object, unsafe error?.takeRetainedValue())
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func `values of every kind are returned, with the app identifier prefix substituted`(
        format: PropertyListSerialization.PropertyListFormat
    ) throws {
        let bytes = try PropertyListSerialization.data(
            fromPropertyList: Self.list, format: format, options: 0)
        let entitlements = Result { () throws(KeychainFailure) in
            try Entitlements(propertyList: bytes, name: "test")
        }
        var expected = Self.list
        expected["keychain-access-groups"] = ["TEAM.shared", "plain"]
        var compared = 0
        for (key, wanted) in expected {
            let (object, error) = value(key, of: entitlements)
            #expect(error == nil)
            let wanted = wanted as CFTypeRef
            #expect(object as? NSObject == wanted as? NSObject, "\(key)")
            #expect(CFGetTypeID(object) == CFGetTypeID(wanted), "\(key)")
            compared += 1
        }
        #expect(compared == 8)
        #expect(value("absent", of: entitlements) == (nil, nil))
        #expect(value("keychain-access-groups", of: entitlements).object as? [String] != nil)
        #expect(value("com.apple.security.app-sandbox", of: entitlements).object as? Bool == true)
    }

    @Test func `without an entitlements file there is no value and no error`() {
        let none = Entitlements(accessGroups: .withoutEntitlements(executable: "/bin/app"))
        #expect(value("keychain-access-groups", of: .success(none)) == (nil, nil))
    }

    @Test func `an unreadable entitlements file gives an error with the reason`() {
        let (object, error) = value("key", of: .failure(.missingEntitlement("The reason.")))
        #expect(object == nil)
        #expect(error?.code == Int(errSecMissingEntitlement))
        #expect(error?.localizedDescription == "The reason.")
        let task = SecTask(.failure(.missingEntitlement("The reason.")))
        #expect(SecTaskCopyValueForEntitlement(task, "key" as CFString, nil) == nil)
    }

    @Test func `a caller's task lists the caller's access groups`() throws {
        let client = Client(try Backend.embeddedEngine.open(), groups: ["G1", "G2"])
        let task = try #require(client.withKeychain { SecTaskCreateFromSelf(kCFAllocatorDefault) })
        let groups = SecTaskCopyValueForEntitlement(task, "keychain-access-groups" as CFString, nil)
        #expect(groups as? [String] == ["G1", "G2"])
        #expect(CFGetTypeID(task) == SecTaskGetTypeID())
    }

    /// Foundation's decoder doesn't limit the depth, and overflows its stack at a few hundred
    /// levels.
    @Test(arguments: [(32, true), (33, false), (1000, false), (60_000, false)])
    func `an entitlements file that is nested too deeply is refused`(depth: Int, isRead: Bool) {
        let forms = [
            ("<array>", "<array/>", "</array>"), ("<dict><key>k</key>", "<dict/>", "</dict>"),
        ]
        for (open, inner, close) in forms {
            // 60,000 levels of the longer form would be refused because of their size.
            let outer = min(depth, 40_000) - 1
            let nested =
                String(repeating: open, count: outer) + inner
                + String(repeating: close, count: outer)
            let text = "<plist version=\"1.0\"><dict><key>k</key>\(nested)</dict></plist>"
            #expect(Self.isRead(Data(text.utf8)) == isRead, "\(open)")
        }
        let older = String(repeating: "(", count: depth) + String(repeating: ")", count: depth)
        #expect(Self.isRead(Data("{ k = \(older); }".utf8)) == isRead)
        #expect(Self.isRead(Self.binaryList(depth: depth)) == isRead)
    }

    @Test func `a binary property list that contains itself is refused`() {
        #expect(!Self.isRead(Self.binaryList(depth: 3, isCyclic: true)))
    }

    private static func isRead(_ list: Data) -> Bool {
        (try? Entitlements(propertyList: list, name: "test")) != nil
    }

    /// A binary property list: a dictionary with `depth` nested arrays. The innermost array is
    /// empty or contains the outermost array.
    private static func binaryList(depth: Int, isCyclic: Bool = false) -> Data {
        func bytes(_ number: Int, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        var objects: [[UInt8]] = [[0xD1] + bytes(1, 3) + bytes(2, 3), [0x51, 0x6B]]
        for level in 1...depth {
            let next = level < depth ? level + 2 : 2
            objects.append(level < depth || isCyclic ? [0xA1] + bytes(next, 3) : [0xA0])
        }
        var list = Data("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += bytes(list.count, 4)
            list += object
        }
        let table = list.count
        list += offsets + [0, 0, 0, 0, 0, 0, 4, 3]
        return list + bytes(objects.count, 8) + bytes(0, 8) + bytes(table, 8)
    }
}

private func == (
    one: (object: CFTypeRef?, error: CFError?), other: (CFTypeRef?, CFError?)
) -> Bool {
    one.object === other.0 && one.error === other.1
}

#endif
