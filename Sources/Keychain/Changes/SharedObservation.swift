// SharedObservation: the state that all `ObservableSecret` objects of one item with the same
// authentication context share in this process.
//   (1) There is at most one instance per item and context. Contexts don't share an instance,
//       since a context that remembers an authentication opens secrets that objects without that
//       context must not show. An instance exists while an `ObservableSecret` or a pending write
//       refers to it. The loop in `init`, which waits for changes of the item, keeps the instance
//       alive only while it processes the result of a read.
//   (2) While writes are pending, `state` is the state that the newest write will produce.
//       Otherwise it is the state after the last successful write or the last read, whichever was
//       later; a read that failed counts too. Writes are carried out one at a time, in the order of
//       the requests.
//   (3) The result of a read that began before the last write ended is discarded, because it may be
//       outdated.
//   (4) The keychain is read and written on the threads of `BlockingPool`, never on the main
//       thread.

import Foundation
import KeychainAuthentication
import KeychainCore
import Observation

@MainActor @Observable
final class SharedObservation {
    /// The state that is shown, or `nil` if nothing is known yet.
    private(set) var state: KeychainState<Data>?
    /// The error of the last write that failed, or of the last value that could not be encoded,
    /// until a write succeeds.
    private(set) var writeError: KeychainError?
    /// Whether a write is waiting or in progress.
    private(set) var isSaving = false

    /// Caches of values that `ObservableSecret` objects derived from the state. They are cleared
    /// when the state changes, so that no value outlives the state that it was derived from.
    @ObservationIgnored private var memories: [WeakMemory] = []
    /// The state of the item after the last successful write or the last read, whichever was later;
    /// a read that failed counts too.
    @ObservationIgnored private var stored: KeychainState<Data>?
    @ObservationIgnored private var writes: [Write] = []
    @ObservationIgnored private var endedWriteCount = 0
    @ObservationIgnored private var waiters: [CheckedContinuation<Void, Never>] = []
    @ObservationIgnored private var following: Following?

    /// A requested write.
    private struct Write {
        let access: ItemAccess
        /// `nil` to delete the item.
        let contents: ItemChanges?
        /// `nil` if no task waits for the write, in which case a later assignment can replace it.
        let continuation: CheckedContinuation<Bool, any Error>?

        var state: KeychainState<Data> { contents?.data.map { .value($0) } ?? .absent }
    }

    private init(_ keychain: Keychain, account: String) {
        let follower = ChangeFollower(keychain.database)
        following = Following(
            task: Task { [weak self] in
                var reader = ItemReader(keychain, account: account)
                var knownWriteCount = 0
                while await follower.wait() {
                    guard let endedWriteCount = self?.endedWriteCount else { return }
                    if endedWriteCount != knownWriteCount {
                        // A write has changed the state that is shown, so the state that the reader
                        // returned last may be news again.
                        reader = ItemReader(keychain, account: account)
                        knownWriteCount = endedWriteCount
                    }
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
        /// The instance keeps its context alive, so no other context has the same identifier.
        var context: ObjectIdentifier?
    }

    private struct Weak {
        weak var item: SharedObservation?
    }

    private static var items: [Identity: Weak] = [:]
    /// When `items` has this many entries, those of deallocated objects are removed.
    private static var limit = 64

    /// Returns the shared instance for an item.
    static func of(_ keychain: Keychain, account: String) -> SharedObservation {
        let identity = Identity(
            database: keychain.database.identity, item: keychain.access(.load, account).item,
            context: keychain.database.authentication.context.map { ObjectIdentifier($0) })
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

    /// Waits until the state is known.
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

    /// Returns a cache for one value. It is cleared when another state is shown, and exists as long
    /// as the caller holds it.
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

    /// Requests a write and returns without waiting for it.
    func assign(_ contents: ItemChanges?, _ access: ItemAccess) {
        // The first write may be in progress, so it stays. If there are others and no task waits
        // for the last one, the new write replaces it.
        if writes.count > 1, let last = writes.last, last.continuation == nil {
            writes.removeLast()
        }
        enqueue(Write(access: access, contents: contents, continuation: nil))
    }

    /// Requests a write and waits until it has ended.
    ///
    /// - Returns: For a deletion, whether the item existed; otherwise `true`.
    func write(_ contents: ItemChanges?, _ access: ItemAccess) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(Write(access: access, contents: contents, continuation: continuation))
        }
    }

    /// Reports the error of a value that could not be encoded, as if a write had failed.
    func refuse(_ error: KeychainError) {
        writeError = error
    }

    private func enqueue(_ write: Write) {
        writes.append(write)
        showNewest()
        guard !isSaving else { return }
        isSaving = true
        // The task holds a strong reference to `self`, so that an assigned value is written even if
        // all `ObservableSecret` objects are gone.
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
            // The write failed before anything was read, so the state is unknown again.
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

/// Holds a task, and cancels it when the last reference to this object is gone.
private final class Following: Sendable {
    private let task: Task<Void, Never>

    init(task: Task<Void, Never>) {
        self.task = task
    }

    deinit { task.cancel() }
}
