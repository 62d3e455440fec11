// ProgramNameTests: programs without entitlements that share a group, and what one of them can do
// to the others' items with a query that names no item.

import Foundation
import KeychainRuntime
import KeychainEngine
import KeychainCore
import TestPrograms
import Testing

@testable import KeychainDaemon

@Suite struct `Programs without entitlements` {
    enum Mode: String, CaseIterable, CustomTestStringConvertible {
        case embedded, service

        var testDescription: String { rawValue }
    }

    /// A keychain that an environment variable selects: a folder, or the socket of a service.
    private struct Place {
        let folder: TemporaryFolder
        let service: TestService?

        init(_ mode: Mode) throws {
            folder = try TemporaryFolder()
            // This test program stands for keychainctl. The copies of `service-peer` are programs
            // that the registry doesn't contain.
            try TestService.entitle("default", "*", in: folder)
            service = mode == .service ? try TestService(folder: folder) : nil
        }

        /// Runs a program in a separate process.
        func run(_ program: PeerCopy, _ words: String...) throws -> [String] {
            let variables =
                service.map { ["KEYCHAIN_SERVICE": $0.configuration.socket] }
                ?? ["KEYCHAIN_DIRECTORY": folder.path + "/keychain"]
            return try TestProgram(path: program.path, ["use"] + words, environment: variables)
                .lines()
        }

        /// Adds an item as a tool that has access to every group.
        func addAsTool(_ account: String) throws {
            if let service {
                _ = try service.client().perform(AddItem(password(account)), as: everything)
                return
            }
            let engine = try KeychainEngine.open(
                directory: folder.path + "/keychain", options: .testing)
            _ = try engine.perform(AddItem(password(account)), as: everything)
            engine.close()
        }
    }

    @Test(arguments: Mode.allCases)
    func `deleting a whole class deletes only items that a program of the same name added`(
        _ mode: Mode
    ) throws {
        let place = try Place(mode)
        let notes = try PeerCopy()
        let mail = try PeerCopy()
        #expect(try place.run(notes, "add:n") == ["add:n 0"])
        #expect(
            try place.run(mail, "delete", "add:m", "list") == [
                "delete -25300", "add:m 0", "list m n",
            ])
        // The next requests come from another process of the same program.
        #expect(
            try place.run(mail, "delete", "delete", "list") == [
                "delete 1", "delete -25300", "list n",
            ])
        // A query that names an item reaches the items of all programs in the group.
        #expect(try place.run(mail, "delete:n", "list") == ["delete:n 1", "list -25300"])
    }

    @Test(arguments: Mode.allCases)
    func `changing a whole class changes only items that a program of the same name added`(
        _ mode: Mode
    ) throws {
        let place = try Place(mode)
        let notes = try PeerCopy()
        let mail = try PeerCopy()
        #expect(try place.run(notes, "add:n", "change") == ["add:n 0", "change 1"])
        #expect(
            try place.run(mail, "change", "add:m", "change", "list") == [
                "change -25300", "add:m 0", "change 1", "list m* n*",
            ])
        // A change by another program doesn't make that program the owner of the item.
        #expect(
            try place.run(mail, "change:n", "delete", "list") == [
                "change:n 1", "delete 1", "list n*",
            ])
    }

    @Test(arguments: Mode.allCases)
    func `changing or deleting a whole class spares keychainctl's items, though they can be read`(
        _ mode: Mode
    ) throws {
        let place = try Place(mode)
        try place.addAsTool("shell")
        let notes = try PeerCopy()
        #expect(
            try place.run(notes, "list", "delete", "change", "list") == [
                "list shell", "delete -25300", "change -25300", "list shell",
            ])
    }

    @Test(arguments: Mode.allCases)
    func `an entitled program deletes whole classes in its groups, as on Apple's platforms`(
        _ mode: Mode
    ) throws {
        let place = try Place(mode)
        let notes = try PeerCopy()
        #expect(try place.run(notes, "add:n") == ["add:n 0"])
        let entitled = try PeerCopy()
        switch mode {
        case .embedded: try entitled.entitle("default")
        case .service: try entitled.entitle("default", in: place.folder)
        }
        #expect(
            try place.run(entitled, "add:e", "change", "delete") == [
                "add:e 0", "change 2", "delete 2",
            ])
        // An item that the entitled program added belongs to no program.
        #expect(try place.run(entitled, "add:e") == ["add:e 0"])
        #expect(try place.run(notes, "delete", "list") == ["delete -25300", "list e"])
    }
}
