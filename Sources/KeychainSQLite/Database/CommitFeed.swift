// CommitFeed: notifies subscribers of commits by this or another process.
//   (1) While a subscription exists, its handler is called after every commit that changes the
//       header. One call can stand for several commits of other processes.
//   (2) Commits of this process are reported directly by the writer, so subscriptions to a database
//       without files work, too. Commits of other processes are detected by a watch of the folder.
//       The watch exists only while there are subscribers.
//   (3) Without subscribers, a commit costs one uncontended lock.
//   (4) Handlers are called without a lock held.

package import Dispatch
package import KeychainCore
import Synchronization

package final class CommitFeed: Sendable {
    /// The state of the header that was last reported to subscribers. Before the first report, the
    /// header's state when the first of them subscribed.
    private enum Seen: Equatable {
        case generation(UInt64)
        case unreadable
    }

    private struct State {
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var next: UInt64 = 0
        var seen = Seen.unreadable
        /// Reads the generation of the last commit; `nil` if it can't be read.
        var generation: @Sendable () -> UInt64? = { nil }
    }

    private let state = Mutex(State())
    /// Locked while the watch is started or stopped, so that a subscription finds it running.
    private let watch = Mutex<CommitWatch?>(nil)
    /// `nil` if no other process can write.
    private let folder: StoreFolder?

    package init(folder: StoreFolder?) {
        self.folder = folder
    }

    /// Sets the function that reads the generation from the header. A rotation of the keys replaces
    /// the database, so the function changes.
    func read(_ generation: @escaping @Sendable () -> UInt64?) {
        state.withLock { $0.generation = generation }
    }

    private var generation: UInt64? {
        // Called without the lock of the state, because it reads a file.
        state.withLock { $0.generation }()
    }

    // MARK: Notifying

    /// Reports a commit of this process. If the database is in a folder, the commit is durable by
    /// then and was passed to the anchor.
    func note(generation: UInt64) {
        tell { state in
            if case .generation(let seen) = state.seen, seen > generation { return true }
            state.seen = .generation(generation)
            return true
        }
    }

    /// Reports that something other than a commit changed what can be read.
    package func signal() {
        tell { _ in true }
    }

    /// Reads the generation, and notifies subscribers if it has changed or can't be read any more.
    private func look() {
        let now = generation.map { Seen.generation($0) } ?? .unreadable
        tell { state in
            guard state.seen != now else { return false }
            state.seen = now
            return true
        }
    }

    private func tell(_ isNews: (inout State) -> Bool) {
        let handlers: [@Sendable () -> Void] = state.withLock { state in
            guard !state.handlers.isEmpty, isNews(&state) else { return [] }
            return Array(state.handlers.values)
        }
        for handler in handlers { handler() }
    }

    // MARK: Subscribing

    /// - Parameters:
    ///   - means: How to detect commits of other processes. `means` and `interval` are ignored if
    ///     there is another subscription, or if no other process can write.
    ///   - interval: How often to read the header without a notification from the kernel. `nil` for
    ///     the interval of the means, see ``CommitWatch``.
    ///   - handler: Called on any thread. It must not block.
    /// - Returns: The subscription, which ends when it is released.
    func subscribe(
        by means: CommitWatch.Means, lookingEvery interval: DispatchTimeInterval?,
        _ handler: @escaping @Sendable () -> Void
    ) -> any ChangeSubscription {
        watch.withLock { watch in
            if watch == nil, let folder {
                watch = CommitWatch(folder, by: means, every: interval) { [weak self] in
                    self?.look()
                }
            }
            let isFirst = state.withLock { $0.handlers.isEmpty }
            // Commits up to the one read here are not reported to the first subscriber, which has
            // not read anything yet.
            let seen =
                isFirst ? generation.map { Seen.generation($0) } ?? .unreadable : nil
            let id = state.withLock { state in
                if let seen { state.seen = seen }
                state.next += 1
                state.handlers[state.next] = handler
                return state.next
            }
            return Subscription(feed: self, id: id)
        }
    }

    /// How commits of other processes are currently detected; `nil` if there is no watch.
    package var means: CommitWatch.Means? {
        watch.withLock { $0?.means }
    }

    package var isFollowed: Bool {
        state.withLock { !$0.handlers.isEmpty }
    }

    private func remove(_ id: UInt64) {
        watch.withLock { watch in
            let isLast = state.withLock { state in
                state.handlers[id] = nil
                return state.handlers.isEmpty
            }
            if isLast { stop(&watch) }
        }
    }

    /// Ends all subscriptions. A notification in progress completes.
    func close() {
        watch.withLock { watch in
            state.withLock { $0.handlers = [:] }
            stop(&watch)
        }
    }

    private func stop(_ watch: inout CommitWatch?) {
        watch?.stop()
        watch = nil
    }

    private final class Subscription: ChangeSubscription {
        private let feed: CommitFeed
        private let id: UInt64

        init(feed: CommitFeed, id: UInt64) {
            self.feed = feed
            self.id = id
        }

        deinit { end() }

        func end() { feed.remove(id) }
    }
}

extension Store {
    /// Calls `handler` after every commit from now on, see ``CommitFeed``.
    package func subscribe(
        by means: CommitWatch.Means = .notices, lookingEvery interval: DispatchTimeInterval? = nil,
        _ handler: @escaping @Sendable () -> Void
    ) -> any ChangeSubscription {
        commits.subscribe(by: means, lookingEvery: interval, handler)
    }
}
