// CommitWatch: detects commits of other processes.
//   (1) The anchor is written after each commit, unless it already records a later commit. It is
//       also written when another database has replaced this one. An inotify event for the anchor
//       says when to read the header, never what changed. Events that were coalesced, or dropped
//       because their queue was full, therefore do no harm.
//   (2) The folder is watched for new files, because a commit creates the anchor if it is missing,
//       and a rotation replaces it by another file.
//   (3) The header is also read at intervals, because some commits cause no event, for example
//       those of a process that is killed before it writes the anchor, or that can't write it, and
//       those made on another machine.
//   (4) If inotify is unavailable at the start, for example because its limits are reached, reading
//       at intervals is the only means.

import Dispatch
import Glibc
import Synchronization

package final class CommitWatch: Sendable {
    package enum Means: Hashable, Sendable {
        /// inotify events, and reading the header every ``safetyInterval``, unless another interval
        /// is given.
        case notices
        /// Reading the header every ``pollingInterval``, unless another interval is given.
        case polling
    }

    static let safetyInterval: DispatchTimeInterval = .seconds(10)
    static let pollingInterval: DispatchTimeInterval = .seconds(1)

    let means: Means
    private let notices: NoticeQueue?
    private let timer: Timer

    /// Starts the watch. Every commit made after this initializer has returned leads to a call of
    /// `look`, in some cases only at the end of the interval.
    ///
    /// - Parameters:
    ///   - folder: The keychain's folder.
    ///   - means: The means to try first.
    ///   - interval: How often to call `look` without an event. `nil` for the interval of the
    ///     means.
    ///   - look: Called on a queue that belongs to the watch, one call at a time.
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
            // The watched files may have been replaced.
            notices?.renew()
            look()
        }
    }

    /// Ends the watch. A call of `look` in progress completes.
    func stop() {
        notices?.stop()
        timer.stop()
    }
}

/// The inotify events of a folder.
private final class NoticeQueue: Sendable {
    private let folder: StoreFolder
    private let descriptor: NoticeDescriptor
    private let source: Mutex<any DispatchSourceRead>

    /// - Returns: `nil` if inotify is unavailable.
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
            // The watch is renewed before the header is read, so that a commit between the two is
            // not missed.
            _ = descriptor.watch(folder)
            look()
        }
        // The descriptor is closed here and not in `stop`, because the source must have finished
        // with it.
        source.setCancelHandler { descriptor.close() }
        source.activate()
        self.folder = folder
        self.descriptor = descriptor
        self.source = Mutex(source)
    }

    /// Watches the folder and the anchor again, in case other files are now at their paths.
    /// Watching the same file again changes nothing.
    func renew() { _ = descriptor.watch(folder) }

    func stop() { source.withLock { $0.cancel() } }
}

/// An inotify descriptor. After it is closed, its number is no longer used here, because the number
/// may belong to another file by then.
private final class NoticeDescriptor: Sendable {
    /// -1 if it is closed.
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

/// A repeating timer.
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
