// UnbridgedTests: the functions read a caller's Foundation objects completely, whatever the classes
// of the objects. The number of reads doesn't depend on the size of an object.

import Foundation
import KeychainServices
import Testing

/// Data that counts how often its length or its bytes are read.
private final class CountingData: NSData {
    private let content: NSData
    private(set) var questionCount = 0

    init(_ content: Data) {
        self.content = NSData(data: content)
        super.init()
    }

    required init?(coder: NSCoder) { nil }

    override var length: Int {
        questionCount += 1
        return content.length
    }

    override var bytes: UnsafeRawPointer {
        questionCount += 1
        // SAFETY: `content` lives as long as this object.
        return unsafe content.bytes
    }
}

/// A dictionary of a class that Core Foundation doesn't know.
private final class ForeignDictionary: NSDictionary {
    private let content: NSDictionary

    init(_ content: NSDictionary) {
        self.content = content
        // SAFETY: no pointer is passed.
        unsafe super.init(objects: nil, forKeys: nil, count: 0)
    }

    required init(
        objects: UnsafePointer<AnyObject>!, forKeys keys: UnsafePointer<NSObject>!, count: Int
    ) {
        // SAFETY: the caller passes `count` objects and `count` keys.
        content = unsafe NSDictionary(objects: objects, forKeys: keys, count: count)
        // SAFETY: no pointer is passed.
        unsafe super.init(objects: nil, forKeys: nil, count: 0)
    }

    required init?(coder: NSCoder) { nil }

    override var count: Int { content.count }
    override func object(forKey key: Any) -> Any? { content.object(forKey: key) }
    override func keyEnumerator() -> NSEnumerator { content.keyEnumerator() }
}

@Suite struct UnbridgedTests {
    private let k: Client

    init() throws {
        k = Client(try Backend.embeddedEngine.open(), groups: ["G1"])
    }

    /// How often `body` reads the length or the bytes of a data object with the given size.
    private func questionCount(_ byteCount: Int, _ body: (NSData) -> Void) -> Int {
        let data = CountingData(Data(repeating: 7, count: byteCount))
        body(data)
        return data.questionCount
    }

    @Test func `the number of accesses to a data object doesn't depend on its size`() throws {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
        ]
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        let made = SecKeyCreateRandomKey(parameters as CFDictionary, nil)
        let key = try #require(made)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let signature = Data([1]) as CFData
        let add = { (item: NSDictionary) in
            #expect(k.withKeychain { SecItemAdd(item, nil) } == errSecSuccess)
        }
        let calls: [(String, (NSData) -> Void)] = [
            (
                "sign",
                {
                    let made = SecKeyCreateSignature(key, algorithm, $0, nil)
                    #expect(made != nil)
                }
            ),
            (
                "verify",
                {
                    let isValid = SecKeyVerifySignature(
                        publicKey, algorithm, $0, signature, nil)
                    #expect(!isValid)
                }
            ),
            ("import", { #expect(SecCertificateCreateWithData(nil, $0) == nil) }),
            ("add", { add(dictionary(GP(UUID().uuidString, "s", ["data": $0]))) }),
            (
                "add, mutable",
                {
                    let item = NSMutableDictionary(dictionary: genp(["acct": UUID().uuidString]))
                    item["v_Data"] = $0
                    add(item)
                }
            ),
        ]
        for (name, call) in calls {
            let few = questionCount(10, call)
            #expect(few > 0 && questionCount(10_000, call) == few, "\(name)")
        }
        // The test can detect bridging, which reads larger data more often.
        let bridge = { (data: NSData) in #expect(!(data as Data).isEmpty) }
        #expect(questionCount(10_000, bridge) > questionCount(10, bridge))
    }

    @Test func `a dictionary of any class is read completely`() throws {
        let identifier = UUID()
        let kinds: [(NSDictionary) -> NSDictionary] = [
            { $0 }, { NSMutableDictionary(dictionary: $0 as? Entries ?? [:]) },
            { ForeignDictionary($0) },
        ]
        for (number, kind) in kinds.enumerated() {
            let service = NSMutableString(string: "s\(number)")
            let add = { (entries: Entries) in
                k.withKeychain { SecItemAdd(kind(dictionary(genp(entries))), nil) }
            }
            #expect(
                add([
                    "svc": service, "vwht": NSUUID(uuidString: identifier.uuidString) as Any,
                    "invi": true, "type": NSNumber(value: 1), "gena": NSData(data: bytes("g")),
                    "data": NSMutableData(data: bytes("secret")),
                ]) == errSecSuccess)
            #expect(add(["svc": "none", "acct": NSNull()]) == errSecParam)
            #expect(k.withKeychain { SecItemAdd(kind(NSDictionary()), nil) } == errSecParam)

            let named = kind(dictionary(genp(["svc": service])))
            let changes = kind(dictionary(["cdat": NSDate(timeIntervalSinceReferenceDate: 8)]))
            #expect(k.withKeychain { SecItemUpdate(named, changes) } == errSecSuccess)

            var result: CFTypeRef?
            let query = kind(dictionary(genp(["svc": service, "R.attrs": true, "R.data": true])))
            // SAFETY: the variable outlives the call.
            let status = k.withKeychain { unsafe SecItemCopyMatching(query, &result) }
            #expect(status == errSecSuccess)
            let item = try #require(result as? Entries)
            #expect(item["vwht"] as? String == identifier.uuidString)
            #expect(item["cdat"] as? Date == Date(timeIntervalSinceReferenceDate: 8))
            #expect(item["invi"] as? Int == 1)
            #expect(item["type"] as? Int == 1)
            #expect(item["gena"] as? Data == bytes("g"))
            #expect(item["v_Data"] as? Data == bytes("secret"))
        }
    }
}
