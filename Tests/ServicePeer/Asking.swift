// Asking: what the service lets a program do, a line for each request.

import Foundation
import KeychainRuntime
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainWire

struct Asking {
    let socket: String

    /// Says the groups that the program is given; then adds an item to each of `groups` and counts
    /// the items that it sees without naming one.
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
                // As greedy as a claim can be.
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

    /// As a program that keeps others away from its memory.
    func runHidden() throws {
        ProcessProtection.apply()
        try run(groups: [])
    }
}

/// Says at each step whether other programs of this user could read its memory.
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

/// Adds items for as long as the service answers, and acknowledges each.
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
