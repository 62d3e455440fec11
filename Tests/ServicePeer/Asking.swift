// Asking: prints what the service allows a program to do, one line for each request.
// Keeping: protects this program's memory step by step, and prints at each step whether other
// programs of this user could read it.
// WritingLoop: adds items until the service ends.
// Using: uses a keychain as any program does, in its own process or through a service.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import KeychainWire

struct Asking {
    let socket: String

    /// Prints the groups that the program is granted. Then adds an item to each of `groups`, and
    /// prints the groups of all items that a search without a group finds.
    func run(groups: [String]) throws {
        let client = ServiceClient(socketPath: socket)
        let caller: AccessGroups
        do throws(KeychainFailure) {
            caller = try client.welcome().entitlements.accessGroups
        } catch {
            acknowledge("welcome \(error.status.rawValue) \(error.reason)")
            return
        }
        let names = caller.names + (caller.includesAll ? ["*"] : [])
        acknowledge("groups \(names.joined(separator: " "))")
        for group in groups {
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: [
                    .service: .string("peer"), .account: .string("\(getpid())"),
                ], accessGroup: group, protection: .afterFirstUnlock, data: Data("x".utf8))
            do throws(KeychainFailure) {
                // The broadest possible claim.
                _ = try client.perform(AddItem(item), as: AccessGroups([group, "*"]))
                acknowledge("add \(group) 0")
            } catch {
                acknowledge("add \(group) \(error.status.rawValue)")
            }
        }
        do throws(KeychainFailure) {
            let found = try client.perform(
                FindItems(ItemQuery(itemClass: .genericPassword), Retrieval(limit: nil)),
                as: AccessGroups(["*"]))
            acknowledge("sees \(Set(found.map(\.accessGroup)).sorted().joined(separator: " "))")
        } catch {
            acknowledge("sees \(error.status.rawValue)")
        }
    }

    /// Prevents other processes from reading this program's memory, and prints the groups that the
    /// program is granted.
    func runHidden() throws {
        ProcessProtection.apply()
        try run(groups: [])
    }
}

/// Prints at each step whether other programs of this user could read this program's memory.
struct Keeping {
    func run() {
        acknowledge("began \(ProcessProtection.isReadable)")
        ProcessProtection.apply()
        acknowledge("applied \(ProcessProtection.isReadable)")
        ProcessProtection.whileIdentifiable {
            acknowledge("connecting \(ProcessProtection.isReadable)")
        }
        acknowledge("connected \(ProcessProtection.isReadable)")
        ProcessProtection.whileIdentifiable {
            ProcessProtection.beginHoldingSecrets()
            acknowledge("holding \(ProcessProtection.isReadable)")
        }
        ProcessProtection.whileIdentifiable {
            acknowledge("connecting again \(ProcessProtection.isReadable)")
        }
    }
}

/// Adds items as long as the service answers, and acknowledges each item.
struct WritingLoop {
    let socket: String
    let worker: Int

    func run() throws {
        let client = ServiceClient(socketPath: socket)
        for number in 0..<100_000 {
            let account = "worker \(worker) item \(number)"
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: [.service: .string("fault"), .account: .string(account)],
                protection: .afterFirstUnlock, data: Data(account.utf8))
            do throws(KeychainFailure) {
                _ = try client.perform(AddItem(item), as: AccessGroups(["default"]))
            } catch {
                acknowledge("ended \(error.status.rawValue)")
                return
            }
            acknowledge(account)
        }
    }
}

// MARK: - Any program

/// Carries out words such as `add:ACCOUNT`, and prints a line with the outcome of each word.
struct Using {
    func run(_ words: [String]) throws {
        let keychain = try ProcessKeychain.connection()
        for word in words {
            let parts = word.split(separator: ":").map { String($0) }
            do throws(KeychainFailure) {
                acknowledge("\(word) \(try carryOut(parts, keychain))")
            } catch {
                acknowledge("\(word) \(error.status.rawValue)")
            }
        }
    }

    private func carryOut(
        _ parts: [String], _ keychain: ProcessConnection
    ) throws(KeychainFailure) -> String {
        let (service, caller) = (keychain.handler, keychain.caller)
        var query = ItemQuery(itemClass: .genericPassword)
        if parts.count > 1 {
            query.attributes = [.service: .string("using"), .account: .string(parts[1])]
        }
        switch parts.first {
        case "add":
            _ = try service.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: query.attributes,
                        protection: .afterFirstUnlock, data: Data("x".utf8))), as: caller)
            return "0"
        case "load":
            let found = try service.perform(
                FindItems(query, Retrieval(includesData: true)), as: caller)
            return found.first?.data.map { String(decoding: $0, as: UTF8.self) } ?? "?"
        case "delete":
            return "\(try service.perform(DeleteItems(query, tombstones: .automatic), as: caller))"
        case "change":
            let changes = ItemChanges(attributes: [.label: .string("changed")])
            return "\(try service.perform(UpdateItems(query, changes), as: caller))"
        case "list":
            let found = try service.perform(FindItems(query, Retrieval(limit: nil)), as: caller)
            return found.map { item in
                let account = item.attributes[.account].flatMap(Self.text) ?? "?"
                return item.attributes[.label] == nil ? account : account + "*"
            }.sorted().joined(separator: " ")
        default: throw .param("There is no such word.")
        }
    }

    private static func text(_ value: AttributeValue) -> String? {
        if case .string(let text) = value { text } else { nil }
    }
}

// MARK: - Lines

/// Writes a line without buffering.
func acknowledge(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
