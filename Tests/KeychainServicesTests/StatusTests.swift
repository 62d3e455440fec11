// StatusTests: every result code has Apple's number and a distinct text.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct StatusTests {
    @Test(.cases(381), arguments: StatusRow.all)
    func `each status code has Apple's number and a sentence as its text`(row: StatusRow) throws {
        #expect(row.value == row.expected)
        let message = try #require(SecCopyErrorMessageString(row.value, nil) as String?)
        #expect(message.hasSuffix("."))
        #expect(message.contains(" "))
        #expect(!message.contains(row.name))
        #expect(!message.hasPrefix("OSStatus"))
    }

    @Test func `the table contains every code once`() {
        #expect(StatusRow.all.count == 381)
        #expect(Set(StatusRow.all.map(\.name)).count == 381)
        #expect(Set(StatusRow.all.map(\.expected)).count == 381)
    }

    @Test func `each public code and one private code has a distinct text`() {
        #expect(StatusMessages.all.count == 382)
        #expect(
            Set(StatusMessages.all.map(\.0))
                == Set(StatusRow.all.map(\.expected)).union([errSecInternal]))
        #expect(Set(StatusMessages.all.map(\.1)).count == 382)
        #expect(errSecInternal == -26276)
    }

    @Test func `each status code's documentation comment is the same as its text`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/KeychainServices/Status").standardizedFileURL
        var texts: [OSStatus: String] = [:]
        for name in ["Keychain", "Certificates", "Cryptography"] {
            var documentation: [Substring] = []
            let file = folder.appending(path: "StatusCodes+\(name).swift")
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if line.hasPrefix("/// ") {
                    documentation.append(line.dropFirst(4))
                } else if let code = line.firstMatch(of: /let \w+: OSStatus = (-?\d+)$/) {
                    let status = try #require(OSStatus(code.1))
                    #expect(
                        texts.updateValue(documentation.joined(separator: " "), forKey: status)
                            == nil)
                    documentation = []
                }
            }
        }
        #expect(texts.count == 382)
        #expect(texts == Dictionary(uniqueKeysWithValues: StatusMessages.all))
    }

    @Test(arguments: [OSStatus(1), -1, 12345, -99999, .min, .max])
    func `an unknown code is described by its number`(status: OSStatus) {
        #expect(SecCopyErrorMessageString(status, nil) as String? == "OSStatus \(status)")
    }

    @Test func `an error made from a status code has the code's domain, number and text`() {
        let error = CFError(status: errSecDuplicateItem)
        #expect(error.domain == NSOSStatusErrorDomain)
        #expect(error.code == -25299)
        #expect(
            error.localizedDescription == StatusMessages.message(for: errSecDuplicateItem))
        #expect(CFError(status: errSecParam, reason: "why").localizedDescription == "why")
    }

    @Test func `an error is stored with one retain, or not at all if the pointer is nil`() {
        weak var observed: CFError?
        var slot: Unmanaged<CFError>?
        do {
            let error = CFError(status: errSecIO)
            observed = error
            unsafe error.store(in: nil)
            unsafe error.store(in: &slot)
        }
        #expect(observed != nil)
        #expect(unsafe slot?.takeRetainedValue().code == -36)
        unsafe slot = nil
        #expect(observed == nil)
    }

    @Test func `noErr is an older name of errSecSuccess`() {
        #expect(noErr == errSecSuccess)
    }
}

#endif
