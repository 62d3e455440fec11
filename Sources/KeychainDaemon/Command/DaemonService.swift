// DaemonService: the service in the hands of who ends services.

import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

struct DaemonService: Service {
    private let server: KeychainServer
    private let manager: ServiceManager
    private let log: Logger

    init(_ server: KeychainServer, _ manager: ServiceManager, _ log: Logger) {
        self.server = server
        self.manager = manager
        self.log = log
    }

    /// Runs until the process gets SIGTERM or SIGINT.
    func runUntilTold() async throws {
        var quiet = log
        quiet.logLevel = .warning
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: self)], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: quiet))
        try await group.run()
    }

    func run() async throws {
        try server.start()
        let requests = await UnixSignalsSequence(trapping: .sigusr1)
        manager.tellReady()
        log.notice("ready")
        let locking = Task { [server] in
            for await _ in requests { server.lock() }
        }
        // It throws only where nothing could tell of a shutdown.
        try? await gracefulShutdown()
        locking.cancel()
        manager.tellStopping()
        await stop()
        log.notice("ended")
    }

    /// On a thread of its own: ending waits.
    private func stop() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                server.stop()
                continuation.resume()
            }
        }
    }
}
