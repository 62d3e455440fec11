// CommitWatch: notices that another process committed.
//   (1) Every process writes the anchor after each commit, and only then. A notice from the
//       kernel about that file says when to look at the header, never what changed: so notices
//       that were merged, or dropped because their queue was full, cost nothing.
//   (2) The folder is watched for files that come: the first commit makes the anchor, and another
//       may take its place.
//   (3) The header is looked at now and then without any notice as well: a process that was killed
//       between commit and anchor gives none, nor does a change made on another machine.
//   (4) Where the kernel gives no notices, because its limit on them is reached, looking now and
//       then is all there is.

import Dispatch
import Glibc
import Synchronization

package final class CommitWatch: Sendable {
    package enum Means: Hashable, Sendable {
        /// Notices, and a look every ``safetyInterval``.
        case notices
        /// A look every ``pollingInterval``.
        case polling
    }

    static let safetyInterval: DispatchTimeInterval = .seconds(10)
    static let pollingInterval: DispatchTimeInterval = .seconds(1)

    let means: Means
    private let notices: NoticeQueue?
    private let timer: Timer

    /// Begins to watch. A commit after this returns leads to a look.
    ///
    /// - Parameters:
    ///   - folder: The keychain's.
    ///   - means: What to try first.
    ///   - interval: How often to look without a notice. nil: see above.
    ///   - look: Called on a queue of the watch's own, one call at a time.
    init(
        _ folder: StoreFolder, by means: Means, every interval: DispatchTimeInterval?,
        _ look: @escaping @Sendable () -> Void
    ) {
        let queue = DispatchQueue(label: "swift-keychain changes", qos: .utility)
        notices = means == .notices ? NoticeQueue(folder, on: queue, look) : nil
        self.means = notices == nil ? .polling : .notices
        timer = Timer(
            every: interval ?? (notices == nil ? Self.pollingInterval : Self.safetyInterval),
            on: queue
        ) { [notices] in
            // What is watched may have been replaced as a whole.
            notices?.renew()
            look()
        }
    }

    /// Ends the watch. A look that is under way comes to its end.
    func stop() {
        notices?.stop()
        timer.stop()
    }
}

/// What the kernel tells of a folder.
private final class NoticeQueue: Sendable {
    private let folder: StoreFolder
    private let descriptor: NoticeDescriptor
    private let source: Mutex<any DispatchSourceRead>

    /// - Returns: nil where there are no notices to be had.
    init?(_ folder: StoreFolder, on queue: DispatchQueue, _ look: @escaping @Sendable () -> Void) {
        let number = SystemCalls.makeNoticeQueue()
        guard number >= 0 else { return nil }
        let descriptor = NoticeDescriptor(number)
        guard descriptor.watch(folder) else {
            descriptor.close()
            return nil
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: number, queue: queue)
        source.setEventHandler {
            descriptor.drain()
            // Before the look: a commit between the two is in the header that is looked at.
            _ = descriptor.watch(folder)
            look()
        }
        // Not before: the source must be done with it.
        source.setCancelHandler { descriptor.close() }
        source.activate()
        self.folder = folder
        self.descriptor = descriptor
        self.source = Mutex(source)
    }

    /// Watches what stands under the names now. To watch the same again changes nothing.
    func renew() { _ = descriptor.watch(folder) }

    func stop() { source.withLock { $0.cancel() } }
}

/// The descriptor of a queue of notices. Once it is closed, its number is never used again here:
/// it may be another's by then.
private final class NoticeDescriptor: Sendable {
    /// -1: closed.
    private let number: Mutex<Int32>

    init(_ number: Int32) {
        self.number = Mutex(number)
    }

    func watch(_ folder: StoreFolder) -> Bool {
        let arrivals = Int(IN_CREATE) | Int(IN_MOVED_TO) | Int(IN_ONLYDIR)
        let anchor = folder.path(of: .anchor)
        return number.withLock { number in
            guard SystemCalls.watch(folder.path, for: arrivals, noticesTo: number) >= 0 else {
                return false
            }
            return SystemCalls.watch(anchor, for: Int(IN_MODIFY), noticesTo: number) >= 0
                || errno == ENOENT
        }
    }

    func drain() {
        number.withLock { SystemCalls.drain($0) }
    }

    func close() {
        number.withLock { number in
            if number >= 0 { Glibc.close(number) }
            number = -1
        }
    }
}

/// A call at intervals.
private final class Timer: Sendable {
    private let source: Mutex<any DispatchSourceTimer>

    init(
        every interval: DispatchTimeInterval, on queue: DispatchQueue,
        _ call: @escaping @Sendable () -> Void
    ) {
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.schedule(
            deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
        source.setEventHandler(handler: call)
        source.activate()
        self.source = Mutex(source)
    }

    func stop() { source.withLock { $0.cancel() } }
}
