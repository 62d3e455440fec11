// Calls some of the functions in the other files as existing code does, and exits with status 1 if
// a result differs from the result on Apple's platforms.

import Foundation
import LocalAuthentication
import Security

struct Report {
    var failureCount = 0

    mutating func check(_ sentence: String, _ holds: Bool) {
        print(holds ? "  \(sentence)" : "  FAILED: \(sentence)")
        if !holds { failureCount += 1 }
    }
}

var report = Report()

let texts = textConstants() + namesOfOneLibrary()
report.check(
    "\(texts.count) constants are text", texts.allSatisfy { ($0 as String).isEmpty == false })
report.check("flags have Apple's bits", accessControlFlags().allSatisfy { $0.rawValue == $1 })
report.check(
    "\(Set(keyAlgorithms()).count) algorithms are different from each other",
    keyAlgorithms().count == Set(keyAlgorithms()).count)

// Results that aren't needed are ignored, as with functions that are imported from C.
let query: [String: Any] = [
    kSecClass as String: kSecClassGenericPassword,
    kSecAttrService as String: "org.example.source-compatibility",
    kSecAttrAccount as String: "account",
]
SecItemDelete(query as CFDictionary)
var item = query
item[kSecValueData as String] = Data("secret".utf8)
report.check("an item is added", SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
var search = query
search[kSecReturnData as String] = kCFBooleanTrue
search[kSecMatchLimit as String] = kSecMatchLimitOne
var result: CFTypeRef?
let status = SecItemCopyMatching(search as CFDictionary, &result)
report.check(
    "the added item is found", status == errSecSuccess && (result as? Data) == Data("secret".utf8))
SecItemUpdate(query as CFDictionary, [kSecAttrLabel as String: "label"] as CFDictionary)
report.check("the item is deleted", SecItemDelete(query as CFDictionary) == errSecSuccess)
report.check(
    "errSecItemNotFound has a text",
    SecCopyErrorMessageString(errSecItemNotFound, nil) as String? != nil)

var bytes = [UInt8](repeating: 0, count: 32)
let randomStatus = SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes)
report.check(
    "random bytes are not all the same", randomStatus == errSecSuccess && Set(bytes).count > 1)
memset_s(&bytes, bytes.count, 0, bytes.count)
report.check(
    "the random bytes are wiped",
    timingsafe_bcmp(bytes, [UInt8](repeating: 0, count: 32), 32) == 0)

var error: Unmanaged<CFError>?
let attributes: [String: Any] = [
    kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
    kSecAttrKeySizeInBits as String: 256,
]
if let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error),
    let publicKey = SecKeyCopyPublicKey(key)
{
    let message = Data("message".utf8) as CFData
    let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
    let signature = SecKeyCreateSignature(key, algorithm, message, &error)
    report.check(
        "a signature is verified",
        signature.map { SecKeyVerifySignature(publicKey, algorithm, message, $0, nil) } == true)
    report.check(
        "an exported public key has 65 bytes",
        (SecKeyCopyExternalRepresentation(publicKey, nil) as Data?)?.count == 65)
} else {
    report.check("a key is made: \(String(describing: error?.takeRetainedValue()))", false)
}
let wrong = SecKeyCreateWithData(Data([1]) as CFData, attributes as CFDictionary, &error)
let reason = error.map { $0.takeRetainedValue() }
report.check("bytes that aren't a key give an error", wrong == nil && CFErrorGetCode(reason) != 0)
report.check(
    "bytes that aren't a certificate give nil",
    SecCertificateCreateWithData(nil, Data([1]) as CFData) == nil)

let accessControl = SecAccessControlCreateWithFlags(
    kCFAllocatorDefault, kSecAttrAccessibleWhenUnlocked, [.userPresence], nil)
report.check(
    "an access control has the type of access controls",
    accessControl.map { CFGetTypeID($0) == SecAccessControlGetTypeID() } == true)

let context = LAContext()
context.localizedReason = "to test"
context.interactionNotAllowed = true
context.setCredential(Data("password".utf8), type: .applicationPassword)
report.check("a context keeps a credential", context.isCredentialSet(.applicationPassword))
context.invalidate()
var contextError: NSError?
report.check(
    "an invalidated context can't evaluate a policy",
    !context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &contextError)
        && contextError?.code == LAError.invalidContext.rawValue)
report.check(
    "an error is recognized",
    isCancellation(LAError(.userCancel)) && !isCancellation(LAError(.invalidContext)))

if let task = SecTaskCreateFromSelf(nil) {
    let groups = SecTaskCopyValueForEntitlement(task, "keychain-access-groups" as CFString, nil)
    report.check(
        "the task has the access group of the entitlements",
        groups as? [String] == ["org.example.group"])
}
report.check(
    "a generated password has 15 characters",
    (SecCreateSharedWebCredentialPassword() as String?)?.count == 15)

print(
    report.failureCount == 0
        ? "All results are Apple's." : "\(report.failureCount) results aren't Apple's.")
exit(report.failureCount == 0 ? 0 : 1)
