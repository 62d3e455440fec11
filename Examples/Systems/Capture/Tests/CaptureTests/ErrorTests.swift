// ErrorTests: tests the errors' texts, which the specification defines, and their statuses and
// recovery suggestions, in the code and in the documentation.

import ExampleTesting
import Foundation
import Security
import Testing

@testable import Capture

@Suite(.freshKeychain) struct `Errors` {
    private let service = KeychainService()

    /// Each case, its text and its status.
    static let cases: [(KeychainError, String, OSStatus?)] = [
        (.saveFailed(-34), "Failed to save item to Keychain (status: -34)", -34),
        (.loadFailed(-25308), "Failed to load item from Keychain (status: -25308)", -25308),
        (.deleteFailed(-36), "Failed to delete item from Keychain (status: -36)", -36),
        (.itemNotFound, "Keychain item not found", -25300),
        (.duplicateItem, "Keychain item already exists", -25299),
        (.invalidData, "Keychain data is invalid or corrupted", nil),
        (.encodingFailed, "Failed to encode data for Keychain", nil),
        (.decodingFailed, "Failed to decode data from Keychain", nil),
        (.secureEnclaveUnavailable, "Secure Enclave is not available on this device", -4),
        (.unexpectedError(-67671), "Unexpected Keychain error (status: -67671)", -67671),
    ]

    @Test func `each of the ten error cases has its own text and the correct status`() {
        for (error, text, status) in Self.cases {
            #expect(error.errorDescription == text)
            #expect((error as any Error).localizedDescription == text)
            #expect(error.status == status)
        }
        for (index, first) in Self.cases.enumerated() {
            for second in Self.cases[(index + 1)...] {
                #expect(first.0 != second.0)
                #expect(first.1 != second.1)
            }
        }
        #expect(Self.cases.count == 10)
    }

    @Test func `errors that are temporary or that a program can act on have a recovery suggestion`()
    {
        let suggestions: [OSStatus: String] = [
            errSecItemNotFound: "normal at first access", errSecDuplicateItem: "Update the item",
            errSecAuthFailed: "Check the item's accessibility",
            errSecInteractionNotAllowed: "Wait until the device is unlocked",
        ]
        for (status, suggestion) in suggestions {
            for error in [
                KeychainError.saveFailed(status), .loadFailed(status), .deleteFailed(status),
                .unexpectedError(status),
            ] {
                #expect(error.recoverySuggestion?.contains(suggestion) == true)
            }
        }
        #expect(KeychainError.itemNotFound.recoverySuggestion?.contains("first access") == true)
        #expect(KeychainError.duplicateItem.recoverySuggestion?.contains("Update") == true)
        #expect(KeychainError.saveFailed(-34).recoverySuggestion == nil)
        #expect(CaptureError.encryptionKeyNotFound.recoverySuggestion != nil)
        #expect(
            CaptureError.encryptionKeyNotFound.localizedDescription
                == "The encryption key was not found on this device")
        #expect(
            CaptureError.captureNotAuthentic.localizedDescription
                == "The capture was altered or sealed by another device")
    }

    @Test(arguments: ["README.md", "Sources/Capture/Capture.docc/ErrorRecovery.md"])
    func `the documented tables list each error case and status with the recovery suggestion`(
        _ path: String
    ) throws {
        let page = try String(
            contentsOf: folder(ofSystem: "Capture").appending(path: path), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }
        func row(_ parts: String...) -> Bool {
            rows.contains { row in parts.allSatisfy(row.contains) }
        }
        for (error, _, _) in Self.cases {
            let name = "\(error)".prefix { $0 != "(" }
            // The row of a case with a status refers to the table of statuses.
            let advice = "\(error)".hasSuffix(")") ? "status" : error.recoverySuggestion
            #expect(row("`\(name)", try #require(advice)), "\(name)")
        }
        for status in [
            errSecItemNotFound, errSecDuplicateItem, errSecAuthFailed,
            errSecInteractionNotAllowed,
        ] {
            let suggestion = try #require(KeychainError.recovery(from: status))
            #expect(row("| \(status) |", suggestion), "\(status)")
        }
    }

    @Test(arguments: [-36, -34, -25293, -25308, -67671] as [OSStatus])
    func `failures to save, load and delete have distinct cases, which contain the status`(
        _ status: OSStatus
    ) throws {
        try service.save(Data("old".utf8), forKey: anyKey)
        try testKeychain.inject(.failure(.init(rawValue: status)))
        #expect(throws: KeychainError.saveFailed(status)) {
            try service.save(Data(), forKey: anyKey)
        }
        #expect(throws: KeychainError.saveFailed(status)) {
            try service.add(Data(), forKey: anyKey)
        }
        #expect(throws: KeychainError.loadFailed(status)) { try service.load(forKey: anyKey) }
        #expect(throws: KeychainError.loadFailed(status)) {
            try service.protection(forKey: anyKey)
        }
        #expect(throws: KeychainError.deleteFailed(status)) {
            try service.delete(forKey: anyKey)
        }
        try testKeychain.removeFaults()
        #expect(try service.load(forKey: anyKey) == Data("old".utf8))
        #expect(try testKeychain.items().count == 1)
    }

    @Test func `a failed update keeps the value and is reported as a failed save`() throws {
        try service.save(Data("old".utf8), forKey: anyKey)
        try testKeychain.inject(.diskFull, into: .update, times: 1)
        #expect(throws: KeychainError.saveFailed(errSecDiskFull)) {
            try service.save(Data("new".utf8), forKey: anyKey)
        }
        #expect(try service.load(forKey: anyKey) == Data("old".utf8))
    }
}
