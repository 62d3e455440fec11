// DaemonProgram: parses the arguments of the process and runs the service until a signal ends it.

import ArgumentParser
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import KeychainTPM
import Logging
import ServiceLifecycle
import UnixSignals

package enum DaemonProgram {
    /// Runs the service with the arguments of the process, then exits.
    package static func main() async -> Never {
        StandardStreams.occupyClosed()
        ProcessProtection.apply()
        PlatformHardware.silenceLibrary()
        Processes.ignoreBrokenConnections()
        Processes.raiseDescriptorLimit()
        if let position = ProcessArguments.firstInvalidPosition {
            DaemonLogHandler.writeToStandardError(
                "keychaind: \(ProcessArguments.complaint(about: position))\n")
            exit(EX_USAGE)
        }
        do {
            try await run(try DaemonCommand.parse())
            exit(0)
        } catch let failure as ServiceFailure {
            DaemonLogHandler.writeToStandardError(
                "keychaind: \(escapedForLine(failure.reason))\n")
            exit(1)
        } catch {
            DaemonCommand.exit(withError: error)
        }
    }

    /// The maximum time that the process waits at exit for the last log lines to be written.
    private static let lastLines: Duration = .seconds(1)

    private static func run(_ command: DaemonCommand) async throws {
        let manager = try ServiceManager.current()
        let format = command.logFormat
        let level = command.logLevel
        let lines = LogQueue(
            loss: {
                DaemonLogHandler.line(
                    format, .warning, "lines of this log were lost", ["count": "\($0)"])
            }, write: DaemonLogHandler.writeToStandardError)
        defer { lines.end(within: Self.lastLines) }
        LoggingSystem.bootstrap { _ in
            DaemonLogHandler(format: format, level: level, write: lines.add)
        }
        let log = Logger(label: "keychaind")
        var configuration = try command.daemonConfiguration(
            ProcessEnvironment.variables,
            executable: Files.target(ofLink: "/proc/self/exe"))
        configuration.engine.hardware = PlatformHardware.current
        configuration.engine.machine = .current(chip: PlatformHardware.current)
        configuration.engine.credential = { ServiceCredential.read() }
        configuration.engine = configuration.engine.withSynchronization
        configuration.engine.usesSmallPageCache = true
        let final = configuration
        try await DaemonService(manager, log) {
            try KeychainServer(
                final, socket: manager.socket, credentialSocket: manager.credentialSocket,
                ownSockets: manager.ownSockets, log: log)
        }.runUntilTold()
    }
}

// MARK: - The service, from start to end

struct DaemonService: Service {
    private let manager: ServiceManager
    private let log: Logger
    private let makeServer: @Sendable () throws -> KeychainServer

    /// `makeServer` is called after the signal handlers are installed: as soon as the socket
    /// exists, any program that sees it may send a signal.
    init(
        _ manager: ServiceManager, _ log: Logger,
        makeServer: @escaping @Sendable () throws -> KeychainServer
    ) {
        self.manager = manager
        self.log = log
        self.makeServer = makeServer
    }

    /// Runs until the process receives SIGTERM, SIGINT or SIGHUP. SIGHUP stays ignored if it was
    /// ignored when the process started, as with `nohup`.
    func runUntilTold() async throws {
        var quiet = log
        quiet.logLevel = .warning
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: self)],
                gracefulShutdownSignals: [.sigterm, .sigint]
                    + (Processes.ignoresHangup ? [] : [.sighup]),
                logger: quiet))
        try await group.run()
    }

    func run() async throws {
        let requests = await UnixSignalsSequence(trapping: .sigusr1)
        let server = try makeServer()
        try server.start()
        manager.tellReady()
        if let time = manager.watchdogTime {
            server.showLife(within: time) { [manager] in
                manager.tellAlive($0 == 1 ? "1 connection" : "\($0) connections")
            }
        }
        log.notice("ready")
        let locking = Task {
            for await _ in requests { server.lock() }
        }
        // `gracefulShutdown` throws only if the task is canceled. The service then ends in the same
        // way.
        try? await gracefulShutdown()
        locking.cancel()
        manager.tellStopping()
        await stop(server)
        log.notice("ended")
    }

    /// Stops the server on a separate thread, since stopping blocks.
    private func stop(_ server: KeychainServer) async {
        await withCheckedContinuation { continuation in
            let end: @Sendable () -> Void = {
                server.stop()
                continuation.resume()
            }
            // If no thread can be started, this thread blocks.
            if !Threads.start(end) { end() }
        }
    }
}
