// ChangeListener: calls handlers when the service reports changes.
//   (1) All handlers share one connection with one thread, which exist while there are handlers.
//   (2) Every change after `subscribe` has returned is reported. If the connection breaks, the
//       handlers are called when it has been restored, since changes may have been missed.
//   (3) Handlers are called without a lock held.

import Glibc
import KeychainCrypto
import KeychainCore
import KeychainWire
import Synchronization

final class ChangeListener: Sendable {
    private struct State {
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var nextID: UInt64 = 0
        /// `nil` while no thread listens.
        var wake: Interruption?
        /// The process that started the thread, and the user whose keychain it listens to. After a
        /// fork, the child doesn't have the thread.
        var holder: ConnectionHolder?

        /// `nil` in the child after a fork: an interruption would end the thread in the parent.
        var wakeOfThisProcess: Interruption? {
            holder?.processID == ConnectionHolder.current.processID ? wake : nil
        }
    }

    private let path: String
    private let options: ServiceOptions
    private let state = Mutex(State())
    /// Held while the connection is made, so that there is only one.
    private let beginning = Mutex(())

    init(path: String, options: ServiceOptions) {
        self.path = path
        self.options = options
    }

    /// Subscribes to changes.
    /// - Throws: The errors of connecting, the failure that the service answers, or `notAvailable`
    ///   if the process has no file descriptors or threads left. After an error, the handler is not
    ///   subscribed.
    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        let id = state.withLock { state in
            state.nextID += 1
            state.handlers[state.nextID] = handler
            return state.nextID
        }
        do {
            try beginning.withLock { _ throws(KeychainFailure) in try beginListening() }
        } catch {
            end(id)
            throw error
        }
        return Subscription(listener: self, id: id)
    }

    private func end(_ id: UInt64) {
        let wake = state.withLock { state -> Interruption? in
            state.handlers[id] = nil
            guard state.handlers.isEmpty else { return nil }
            defer { state.wake = nil }
            return state.wakeOfThisProcess
        }
        wake?.interrupt()
    }

    /// Whether a thread of this process and user listens.
    var isListening: Bool {
        state.withLock { $0.wake != nil && $0.holder == .current }
    }

    // MARK: Listening

    private func beginListening() throws(KeychainFailure) {
        guard !isListening else { return }
        let connection = try subscribed()
        let wake = Interruption()
        guard wake.descriptor != nil else {
            throw .busy("This process has too many open files. Close some and try again.")
        }
        let (isWanted, earlier) = state.withLock { state -> (Bool, Interruption?) in
            // All handlers may have been removed in the meantime.
            guard !state.handlers.isEmpty else { return (false, nil) }
            // If the process has changed its user, the thread for the earlier user is ended.
            let earlier = state.wakeOfThisProcess
            state.wake = wake
            state.holder = connection.holder
            return (true, earlier)
        }
        guard isWanted else { return }
        earlier?.interrupt()
        guard Threads.start({ [self] in listen(connection, wake) }) else {
            state.withLock { $0.wake = nil }
            throw .busy("This process can't start another thread. End some and try again.")
        }
    }

    /// A new connection with a subscription.
    private func subscribed() throws(KeychainFailure) -> ServiceConnection {
        let connection = try ServiceConnection(to: path, options)
        let id: UInt64 = 2
        let frame = try ClientMessage.subscribe.frame(id: id)
        switch connection.exchange(frame, id: id, time: options.requestTime, for: Done.self) {
        case .answered: return connection
        case .failed(let failure): throw failure
        case .unreadable, .tooLarge, .givenUp: throw .serviceUnreadable(path)
        case .notCarriedOut, .broken: throw .serviceRefuses(path)
        case .timedOut: throw .serviceSilent(path)
        }
    }

    private func listen(_ connection: ServiceConnection, _ wake: Interruption) {
        var connection = connection
        while true {
            switch next(connection, wake) {
            case .changed: signal()
            case .other: continue
            case .ended:
                guard let another = reconnected(wake) else { return }
                connection = another
                signal()
            case nil: return
            }
        }
    }

    /// - Returns: `nil` if this thread has to end, because no handler is left or the thread for
    ///   another user of the process replaces it.
    private func next(
        _ connection: ServiceConnection, _ wake: Interruption
    ) -> ServiceConnection.Event? {
        if !connection.isPending {
            switch Descriptor.wait(for: connection.socket.descriptor, until: wake) {
            case .interrupted: return nil
            // The system is short of memory, for example. The thread doesn't end, because later
            // subscribers rely on it.
            case .failed: return Self.pause(wake, milliseconds: 100) ? .other : nil
            case .readable, .timedOut: break
            }
        }
        // If the process has changed its user, this connection belongs to the earlier user.
        guard connection.holder == .current else { return .ended }
        return connection.event(within: options.requestTime)
    }

    /// Waits without the system call that failed.
    /// - Returns: `false` if this thread has to end.
    private static func pause(_ wake: Interruption, milliseconds: Int32) -> Bool {
        usleep(UInt32(milliseconds) * 1000)
        return !wake.isInterrupted
    }

    /// Reconnects, with a backoff from 20 milliseconds to 5 seconds.
    /// - Returns: `nil` if this thread has to end.
    private func reconnected(_ wake: Interruption) -> ServiceConnection? {
        var milliseconds: Int32 = 20
        while true {
            switch Descriptor.wait(for: nil, until: wake, milliseconds: milliseconds) {
            case .interrupted, .readable: return nil
            case .failed: guard Self.pause(wake, milliseconds: milliseconds) else { return nil }
            case .timedOut: break
            }
            if let connection = try? subscribed() { return connection }
            milliseconds = min(milliseconds * 2, 5000)
        }
    }

    private func signal() {
        for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
    }

    private final class Subscription: ChangeSubscription {
        private let listener: ChangeListener
        private let id: UInt64

        init(listener: ChangeListener, id: UInt64) {
            self.listener = listener
            self.id = id
        }

        deinit { end() }

        func end() { listener.end(id) }
    }
}
