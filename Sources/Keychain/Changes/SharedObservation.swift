// SharedObservation: what all wrappers of one item in this process have in common.
//   (1) There is one for each item, for as long as a wrapper is, an iteration of its own, or a
//       write under way.
//   (2) What it shows is the last write that was asked for and not refused; without one, what
//       was read last. Writes are done in the order in which they were asked for, one at a time.
//   (3) A read that began before the last write ended is not shown: it may have seen what was
//       there before.
//   (4) The keychain is read and written on threads of its own, never on the main actor's.

import Foundation
import KeychainCore
import Observation

@MainActor @Observable
final class SharedObservation {
    /// What is shown. nil: nothing is known yet.
    private(set) var state: KeychainState<Data>?
    /// Why the last write was refused, until one succeeds.
    private(set) var writeError: KeychainError?
    /// Whether a write is waiting or under way.
    private(set) var isSaving = false

    /// What wrappers made of the state. It goes with the state, so that no value outlasts it.
    @ObservationIgnored private var memories: [WeakMemory] = []
    /// What is in the keychain, as of the last write or read.
    @ObservationIgnored private var stored: KeychainState<Data>?
    @ObservationIgnored private var writes: [Write] = []
    @ObservationIgnored private var endedWriteCount = 0
    @ObservationIgnored private var waiters: [CheckedContinuation<Void, Never>] = []
    @ObservationIgnored private var following: Following?

    /// A write that was asked for.
    private struct Write {
        let access: ItemAccess
        /// nil: delete.
        let contents: ItemChanges?
        /// nil for one that no task waits for: a newer one can take its place.
        let continuation: CheckedContinuation<Bool, any Error>?

        var state: KeychainState<Data> { contents?.data.map { .value($0) } ?? .absent }
    }

    private init(_ keychain: Keychain, account: String) {
        let follower = ChangeFollower(keychain.database)
        following = Following(
            task: Task { [weak self] in
                var reader = ItemReader(keychain, account: account)
                while await follower.wait() {
                    guard let endedWriteCount = self?.endedWriteCount else { return }
                    let result = try? await BlockingPool.shared.run { [reader] in
                        var reader = reader
                        let state = reader.read(follower)
                        return (state, reader)
                    }
                    guard let self, let (state, next) = result else { return }
                    guard self.endedWriteCount == endedWriteCount else {
                        follower.signal.raise()
                        continue
                    }
                    reader = next
                    if let state { show(stored: state) }
                }
            })
    }

    // MARK: Sharing

    private struct Identity: Hashable {
        var database: DatabaseIdentity
        var item: ItemQuery
    }

    private struct Weak {
        weak var item: SharedObservation?
    }

    private static var items: [Identity: Weak] = [:]
    /// How many there may be before those that are gone are looked for.
    private static var limit = 64

    /// The one for an item.
    static func of(_ keychain: Keychain, account: String) -> SharedObservation {
        let identity = Identity(
            database: keychain.database.identity, item: keychain.access(.load, account).item)
        if let item = items[identity]?.item { return item }
        if items.count >= limit {
            items = items.filter { $0.value.item != nil }
            limit = max(64, 2 * items.count)
        }
        let item = SharedObservation(keychain, account: account)
        items[identity] = Weak(item: item)
        return item
    }

    // MARK: Reading

    /// Waits until something is known.
    func ready() async {
        if state != nil { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    private func show(stored: KeychainState<Data>) {
        self.stored = stored
        showNewest()
    }

    private func showNewest() {
        guard let newest = writes.last?.state ?? stored else { return }
        if state?.isSame(newest, { $0 == $1 }) != true {
            show(newest)
        }
        let ready = waiters
        waiters = []
        for waiter in ready { waiter.resume() }
    }

    private func show(_ new: KeychainState<Data>?) {
        for memory in memories { memory.memory?.content = nil }
        state = new
    }

    /// Something to remember until another state is shown, for as long as the memory is held.
    func makeMemory() -> Memory {
        memories.removeAll { $0.memory == nil }
        let memory = Memory()
        memories.append(WeakMemory(memory: memory))
        return memory
    }

    @MainActor final class Memory {
        var content: (any Sendable)?
    }

    private struct WeakMemory {
        weak var memory: Memory?
    }

    // MARK: Writing

    /// Writes in the background.
    func assign(_ contents: ItemChanges?, _ access: ItemAccess) {
        // The first may be under way. Of others that no task waits for, the last one counts.
        if writes.count > 1, let last = writes.last, last.continuation == nil {
            writes.removeLast()
        }
        enqueue(Write(access: access, contents: contents, continuation: nil))
    }

    /// Writes, and waits for the end.
    ///
    /// - Returns: For a deletion, whether there was an item.
    func write(_ contents: ItemChanges?, _ access: ItemAccess) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(Write(access: access, contents: contents, continuation: continuation))
        }
    }

    /// A value that could not be turned into bytes is a write that was refused.
    func refuse(_ error: KeychainError) {
        writeError = error
    }

    private func enqueue(_ write: Write) {
        writes.append(write)
        showNewest()
        guard !isSaving else { return }
        isSaving = true
        // Holds the item: what was assigned is written even if all wrappers are gone by then.
        Task {
            while let write = writes.first {
                let result = await Self.perform(write.access, write.contents)
                writes.removeFirst()
                end(write, result)
            }
            isSaving = false
        }
    }

    private func end(_ write: Write, _ result: Result<Bool, any Error>) {
        endedWriteCount += 1
        switch result {
        case .success:
            stored = write.state
            if writeError != nil { writeError = nil }
        case .failure(let error):
            writeError =
                error as? KeychainError
                ?? KeychainError(.internalError, operation: write.access.operation)
        }
        if stored == nil, writes.isEmpty {
            // Refused before anything was read: what was shown is not known any more.
            show(nil)
        }
        showNewest()
        write.continuation?.resume(with: result)
    }

    private static func perform(
        _ access: ItemAccess, _ contents: ItemChanges?
    ) async -> Result<Bool, any Error> {
        do {
            return .success(
                try await BlockingPool.shared.run {
                    guard let contents else { return try access.delete() }
                    try access.put(contents)
                    return true
                })
        } catch {
            return .failure(error)
        }
    }
}

/// A task that goes with the last reference.
private final class Following: Sendable {
    private let task: Task<Void, Never>

    init(task: Task<Void, Never>) {
        self.task = task
    }

    deinit { task.cancel() }
}
