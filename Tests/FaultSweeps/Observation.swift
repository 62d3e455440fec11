// Observation: all answers of a keychain after an interruption, compared with the states in which
// the keychain may be.

import Foundation
import KeychainCrypto
import KeychainEngine
package import KeychainCore

/// The observations from one opening of a keychain.
package struct Observation: CustomStringConvertible {
    /// The result of looking up an account.
    package enum Answer: Hashable {
        case value(Int)
        case absent
        /// A value that the account never had.
        case foreign
        case failed(KeychainFailure)

        package var isDamage: Bool {
            guard case .failed(let failure) = self else { return false }
            return failure.cause == .damage || failure.status == .decode
        }
    }

    package var failureOfOpening: KeychainFailure?
    package var answers: [Int: Answer] = [:]
    /// The earlier values of the accounts that have any, from the oldest to the latest.
    package var versions: [Int: [Int]] = [:]
    /// The number of items in a list of all, or `nil` if listing failed.
    package var listedCount: Int?
    /// The passcodes in the known states that unlock the keychain. `nil` if no passcode is set.
    package var passcodes: Set<Int>?
    package var isSealed = false
    package var generation: UInt64 = 0
    package var check: CheckReport?

    package var isSound: Bool { failureOfOpening == nil && check?.isSound == true }

    /// Opens a keychain and collects its answers.
    ///
    /// - Parameters:
    ///   - directory: The keychain's folder.
    ///   - states: All states in which the keychain may be or may have been. Every account and
    ///     passcode in these states is tried.
    package init(of directory: String, knowing states: [KeychainState]) {
        let accounts = Set(
            states.flatMap { Array($0.values.keys) + $0.setAside.keys + $0.versions.keys })
        let values = states.reduce(into: [Int: Set<Int>]()) { known, state in
            for (account, value) in state.values { known[account, default: []].insert(value) }
            for (account, value) in state.setAside { known[account, default: []].insert(value) }
            known.merge(state.versions.mapValues { Set($0) }) { $0.union($1) }
        }
        do throws(KeychainFailure) {
            Self.convert(directory, Set(states.compactMap(\.passcode)))
            let engine = try KeychainEngine.open(
                directory: directory, options: StepRunner.options)
            defer { engine.close() }
            isSealed = try engine.deviceKeyProtection() == .hardware
            if engine.hasPasscode {
                passcodes = Set(
                    Set(states.compactMap(\.passcode)).filter { number in
                        let secret = SecretBytes(copying: Contents.passcode(number))
                        return (try? engine.unlock(passcode: secret)) != nil
                    })
            }
            for account in accounts {
                answers[account] = Self.load(account, values[account] ?? [], from: engine)
            }
            for account in accounts {
                versions[account] = Self.versions(account, values[account] ?? [], from: engine)
            }
            let all = ItemQuery(
                itemClass: .genericPassword, attributes: [.service: .string("fault")])
            listedCount = Self.count(all, in: engine)
            generation = try engine.status().generation
            check = try engine.check()
        } catch {
            failureOfOpening = error
        }
    }

    /// Converts a keychain of version 1 if its conversion requires a passcode.
    private static func convert(_ directory: String, _ passcodes: Set<Int>) {
        let options = StepRunner.options
        guard
            let isNeeded = try? KeychainEngine.conversionNeedsPasscode(
                directory: directory, options: options), isNeeded
        else { return }
        for number in passcodes {
            let secret = SecretBytes(copying: Contents.passcode(number))
            _ = try? KeychainEngine.convert(
                directory: directory, passcode: secret, options: options)
        }
    }

    private static func load(
        _ account: Int, _ values: Set<Int>, from engine: KeychainEngine
    ) -> Answer {
        do throws(KeychainFailure) {
            let found = try engine.perform(
                FindItems(
                    Contents.query(account),
                    Retrieval(includesData: true, includesAttributes: false)),
                as: Contents.caller)
            let data = found.first?.data
            return values.first { Contents.data($0) == data }.map { .value($0) } ?? .foreign
        } catch {
            return error.status == .itemNotFound ? .absent : .failed(error)
        }
    }

    private static func versions(
        _ account: Int, _ values: Set<Int>, from engine: KeychainEngine
    ) -> [Int]? {
        let found = try? engine.perform(
            FindVersions(Contents.query(account), includesData: true), as: Contents.caller)
        return found?.reversed().map { version in
            values.first { Contents.data($0) == version.item.data } ?? -1
        }
    }

    private static func count(_ query: ItemQuery, in engine: KeychainEngine) -> Int? {
        do throws(KeychainFailure) {
            return try engine.perform(FindItems(query, Retrieval(limit: nil)), as: Contents.caller)
                .count
        } catch {
            return error.status == .itemNotFound ? 0 : nil
        }
    }

    /// Describes the first difference from a state. `nil` if the observation matches the state.
    package func difference(from state: KeychainState) -> String? {
        if let failureOfOpening { return "can't be opened: \(failureOfOpening)" }
        for (account, answer) in answers.sorted(by: { $0.key < $1.key }) {
            if state.setAside[account] != nil {
                guard answer.isDamage else { return "account \(account), set aside: \(answer)" }
                continue
            }
            let wanted = state.values[account].map { Answer.value($0) } ?? .absent
            if answer != wanted { return "account \(account): \(answer) instead of \(wanted)" }
        }
        if versions != state.versions {
            return "earlier values \(versions) instead of \(state.versions)"
        }
        // Items that are set aside aren't listed, or make the listing fail.
        if state.setAside.isEmpty, listedCount != state.values.count {
            return "a list of \(listedCount ?? -1) instead of \(state.values.count) items"
        }
        if passcodes != state.passcode.map({ [$0] }) {
            return "passcodes \(passcodes.map { "\($0)" } ?? "none") instead of "
                + (state.passcode.map { "\($0)" } ?? "none")
        }
        if isSealed != state.isSealed { return isSealed ? "it is sealed" : "it is not sealed" }
        guard let check, check.isSound else {
            return "unsound: \(check?.problems ?? []) \(check?.damagedItems ?? [])"
        }
        return nil
    }

    /// Describes the first answer that is wrong even if the keychain reports damage: a wrong value,
    /// "not found" for an existing item, or a failure that reports neither damage nor a lock. `nil`
    /// if there is no such answer.
    package func lie(about states: [KeychainState]) -> String? {
        for (account, answer) in answers.sorted(by: { $0.key < $1.key }) where !answer.isDamage {
            let wanted = states.map { state in
                state.values[account].map { Answer.value($0) } ?? .absent
            }
            // For a locked item, neither presence nor absence is known.
            if case .failed(let failure) = answer, failure.status == .interactionNotAllowed {
                continue
            }
            if !wanted.contains(answer) {
                return "account \(account): \(answer) instead of \(wanted)"
            }
        }
        return nil
    }

    package var description: String {
        failureOfOpening.map { "can't be opened: \($0)" }
            ?? "\(answers.sorted { $0.key < $1.key }) generation \(generation)"
    }
}
