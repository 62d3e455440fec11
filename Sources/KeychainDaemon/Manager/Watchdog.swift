// Watchdog: whether the service's threads still take work.
//   (1) A sign of life is given by a thread that has just taken the work of giving it, never by a
//       clock alone.
//   (2) While one is on its way no other is asked for: a service that hangs isn't filled with them.

import Synchronization

final class Watchdog: Sendable {
    /// Hands work to the service's threads.
    typealias Probe = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let probe: Probe
    private let onLife: @Sendable () -> Void
    private let isAsked = Mutex(false)

    init(_ probe: @escaping Probe, onLife: @escaping @Sendable () -> Void) {
        self.probe = probe
        self.onLife = onLife
    }

    /// Asks for a sign of life. To be called at least twice in the time that the service manager
    /// gives.
    func ask() {
        let isFirst = isAsked.withLock { isAsked in
            defer { isAsked = true }
            return !isAsked
        }
        guard isFirst else { return }
        probe { [self] in
            isAsked.withLock { $0 = false }
            onLife()
        }
    }
}
