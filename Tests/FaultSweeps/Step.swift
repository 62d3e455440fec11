// Step: one operation on a keychain, as text for another process, and the content of the keychain
// afterwards.
//   (1) A step changes a keychain completely or not at all. After an interruption the keychain is
//       in the state before the step or the one after it.

package import Foundation
package import KeychainCore

/// Accounts, values and passcodes are numbers, from which ``Contents`` derives the actual ones.
package enum Step: Hashable, Sendable {
    case add(Int, Int)
    case update(Int, Int)
    case put(Int, Int)
    case delete(Int)
    /// Updates an item, and keeps the previous version.
    case replace(Int, Int)
    /// Deletes an item, and keeps it as a version.
    case remove(Int)
    /// Restores the version of an item that has the given value.
    case undo(Int, Int)
    case setPasscode(Int)
    case changePasscode(Int, Int)
    case removePasscode(Int)
    case unlock(Int)
    case seal
    case unseal
    /// Replaces all keys.
    case rotate
    /// Rebuilds the database.
    case recover
    /// Restores everything that is set aside.
    case restore
    /// Checkpoints the database's write-ahead log and truncates it.
    case emptyLog
    case reopen
}

extension Step: CustomStringConvertible {
    package var description: String {
        switch self {
        case .add(let account, let value): "add:\(account):\(value)"
        case .update(let account, let value): "update:\(account):\(value)"
        case .put(let account, let value): "put:\(account):\(value)"
        case .delete(let account): "delete:\(account)"
        case .replace(let account, let value): "replace:\(account):\(value)"
        case .remove(let account): "remove:\(account)"
        case .undo(let account, let value): "undo:\(account):\(value)"
        case .setPasscode(let passcode): "set-passcode:\(passcode)"
        case .changePasscode(let old, let new): "change-passcode:\(old):\(new)"
        case .removePasscode(let passcode): "remove-passcode:\(passcode)"
        case .unlock(let passcode): "unlock:\(passcode)"
        case .seal: "seal"
        case .unseal: "unseal"
        case .rotate: "rotate"
        case .recover: "recover"
        case .restore: "restore"
        case .emptyLog: "empty-log"
        case .reopen: "reopen"
        }
    }

    /// The step with the given description.
    package init?(_ text: String) {
        let words = text.split(separator: ":")
        let numbers = words.dropFirst().compactMap { Int($0) }
        switch (words.first ?? "", numbers.count) {
        case ("add", 2): self = .add(numbers[0], numbers[1])
        case ("update", 2): self = .update(numbers[0], numbers[1])
        case ("put", 2): self = .put(numbers[0], numbers[1])
        case ("delete", 1): self = .delete(numbers[0])
        case ("replace", 2): self = .replace(numbers[0], numbers[1])
        case ("remove", 1): self = .remove(numbers[0])
        case ("undo", 2): self = .undo(numbers[0], numbers[1])
        case ("set-passcode", 1): self = .setPasscode(numbers[0])
        case ("change-passcode", 2): self = .changePasscode(numbers[0], numbers[1])
        case ("remove-passcode", 1): self = .removePasscode(numbers[0])
        case ("unlock", 1): self = .unlock(numbers[0])
        case ("seal", 0): self = .seal
        case ("unseal", 0): self = .unseal
        case ("rotate", 0): self = .rotate
        case ("recover", 0): self = .recover
        case ("restore", 0): self = .restore
        case ("empty-log", 0): self = .emptyLog
        case ("reopen", 0): self = .reopen
        default: return nil
        }
    }
}

/// The content of a keychain.
package struct KeychainState: Hashable, Sendable {
    /// The value of each account.
    package var values: [Int: Int] = [:]
    /// The earlier values of each account, from the oldest to the latest.
    package var versions: [Int: [Int]] = [:]
    /// The values of the accounts whose items are set aside and can be restored.
    package var setAside: [Int: Int] = [:]
    package var passcode: Int?
    package var isSealed = false

    package init(values: [Int: Int] = [:]) {
        self.values = values
    }

    package func after(_ step: Step) -> KeychainState {
        var state = self
        switch step {
        case .add(let account, let value), .update(let account, let value),
            .put(let account, let value):
            state.values[account] = value
        case .delete(let account): state.values[account] = nil
        case .replace(let account, let value), .undo(let account, let value):
            state.versions[account, default: []] += [values[account]].compactMap { $0 }
            state.values[account] = value
        case .remove(let account):
            state.versions[account, default: []] += [values[account]].compactMap { $0 }
            state.values[account] = nil
        case .setPasscode(let passcode), .changePasscode(_, let passcode):
            state.passcode = passcode
        case .removePasscode:
            state.passcode = nil
            state.values = values.filter { !Contents.needsPasscode($0.key) }
        case .restore:
            state.values.merge(setAside) { present, _ in present }
            state.setAside = [:]
        case .seal: state.isSealed = true
        case .unseal: state.isSealed = false
        case .unlock, .rotate, .recover, .emptyLog, .reopen: break
        }
        return state
    }

    /// The states before the first step, between the steps and after the last.
    package func states(through steps: [Step]) -> [KeychainState] {
        steps.reduce(into: [self]) { $0.append($0[$0.count - 1].after($1)) }
    }
}

/// The actual values that the numbers in steps stand for.
package enum Contents {
    package static let caller = AccessGroups(["default"])

    package static func needsPasscode(_ account: Int) -> Bool { account >= 1000 }

    /// The protection class of the account's item. The items of different accounts are of different
    /// classes, so that a locked keychain still opens some of them.
    package static func protection(of account: Int) -> ProtectionClass {
        needsPasscode(account)
            ? .whenPasscodeSetThisDeviceOnly
            : [
                .afterFirstUnlock, .whenUnlocked, .always, .afterFirstUnlockThisDeviceOnly,
            ][account % 4]
    }

    package static func query(_ account: Int) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string("fault"), .account: .string("account \(account)")])
    }

    package static func item(_ account: Int, _ value: Int) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: query(account).attributes.merging(
                [.label: .string("label \(account)")]) { $1 },
            protection: protection(of: account), data: data(value))
    }

    /// The sizes range from a few bytes to several pages, so that overflow chains are created and
    /// deleted.
    package static func data(_ value: Int) -> Data {
        Data("value \(value)\n".utf8)
            + Data(repeating: UInt8(truncatingIfNeeded: value), count: value * 131 % 9000)
    }

    package static func passcode(_ number: Int) -> [UInt8] { Array("passcode \(number)".utf8) }
}
