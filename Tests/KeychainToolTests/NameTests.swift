import Foundation
import KeychainCore
import Testing

@testable import KeychainTool

@Suite struct `Names of the command line` {
    @Test(arguments: ProtectionClass.allCases)
    func `a protection class can be given by its name or by Apple's code`(
        _ protection: ProtectionClass
    ) {
        #expect(ProtectionClass(commandLineName: protection.commandLineName) == protection)
        #expect(ProtectionClass(commandLineName: protection.code) == protection)
        #expect(
            protection.commandLineName.hasSuffix("this-device-only") == protection.isThisDeviceOnly)
    }

    @Test func `the class when-passcode-set-this-device-only has a short name`() {
        #expect(
            ProtectionClass(commandLineName: "when-passcode-set") == .whenPasscodeSetThisDeviceOnly)
    }

    @Test(arguments: ["", "When-Unlocked", "unlocked", "when-unlocked ", "AK"])
    func `an unknown name of a protection class is refused`(_ name: String) {
        #expect(ProtectionClass(commandLineName: name) == nil)
    }

    @Test func `the name of each protocol and authentication type converts to its code and back`() {
        for (attribute, table, count) in [
            (Attribute.protocolType, NetworkNames.protocols, 31),
            (.authenticationType, NetworkNames.authenticationTypes, 8),
        ] {
            #expect(table.count == count)
            for (name, code) in table {
                let value = NetworkNames.value(of: name, for: attribute)
                #expect(value == .string(code))
                #expect(value.flatMap { NetworkNames.name(of: $0, for: attribute) } == name)
                #expect(code.utf8.count == 4)
            }
        }
    }

    @Test func `an unknown four-character protocol code is used unchanged`() {
        #expect(NetworkNames.value(of: "sshx", for: .protocolType) == .string("sshx"))
        #expect(NetworkNames.name(of: .string("sshx"), for: .protocolType) == nil)
    }

    @Test func `a reference is 32 hexadecimal digits and nothing else`() {
        let digits = "00112233445566778899aabbccddeeFF"
        let reference = ReferenceArgument(argument: digits)?.reference
        #expect(reference?.description == digits.lowercased())
        for text in [
            "", "00", digits + "0", String(digits.dropLast()) + "g", "é" + digits.dropLast(2),
        ] {
            #expect(ReferenceArgument(argument: text) == nil, "\(text)")
        }
    }

    @Test func `the exit statuses are those in the manual`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Documentation/keychainctl.md").standardizedFileURL
        let manual = try String(contentsOf: file, encoding: .utf8)
        let sections = manual.components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix("Exit status\n") })
        let statuses = section.split(separator: "\n").compactMap { line in
            line.prefixMatch(of: /\| ([0-9]+) \|/).flatMap { Int32($0.1) }
        }
        #expect(ControlStatus.allCases.map(\.rawValue) == statuses)
    }

    @Test(arguments: [
        (KeychainFailure.itemNotFound, ControlStatus.notFound),
        (.duplicateItem, .exists),
        (.locked(.whenUnlocked), .locked),
        (KeychainFailure(.authFailed, ""), .locked),
        (.authenticationNeeded(.userPresence, nil), .locked),
        (.missingEntitlement(""), .denied),
        (KeychainFailure(.readOnly, ""), .denied),
        (.damagedStore("a page was altered"), .damaged),
        (KeychainFailure(.decode, ""), .damaged),
        (KeychainFailure(.invalidKeychain, ""), .damaged),
        (KeychainFailure(.diskFull, ""), .failure),
        (KeychainFailure(.param, ""), .failure),
        (KeychainFailure(Status(rawValue: -1), ""), .failure),
    ])
    func `every failure of the keychain has an exit status`(
        _ failure: KeychainFailure, _ status: ControlStatus
    ) {
        #expect(ControlFailure(failure).status == status)
    }
}
