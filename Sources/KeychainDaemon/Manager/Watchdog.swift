// Watchdog: reports that the service's threads still accept work.
//   (1) A sign of life is reported by a thread that has just taken a probe from its queue, never by
//       a timer alone.
//   (2) While a probe is pending, no other is submitted, so that probes don't pile up in a service
//       that hangs.

import Synchronization

final class Watchdog: Sendable {
    /// Submits work to the service's threads.
    typealias Probe = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let probe: Probe
    private let onLife: @Sendable () -> Void
    private let isPending = Mutex(false)

    init(_ probe: @escaping Probe, onLife: @escaping @Sendable () -> Void) {
        self.probe = probe
        self.onLife = onLife
    }

    /// Submits a probe. To be called at least twice per watchdog timeout.
    func ask() {
        let isFirst = isPending.withLock { isPending in
            defer { isPending = true }
            return !isPending
        }
        guard isFirst else { return }
        probe { [self] in
            isPending.withLock { $0 = false }
            onLife()
        }
    }
}
