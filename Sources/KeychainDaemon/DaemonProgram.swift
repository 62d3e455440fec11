// DaemonProgram: from the arguments of a process to a service that runs until it is told to end.

import ArgumentParser
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainTPM
import Logging
import ServiceLifecycle
import UnixSignals

package enum DaemonProgram {
    /// Runs the service that the process was started as, and ends the process.
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

    /// How long the end waits for the last lines of the log.
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
        let final = configuration
        try await DaemonService(manager, log) {
            try KeychainServer(
                final, socket: manager.socket, credentialSocket: manager.credentialSocket,
                ownSockets: manager.ownSockets, log: log)
        }.runUntilTold()
    }
}

// MARK: - The end of a service

struct DaemonService: Service {
    private let manager: ServiceManager
    private let log: Logger
    private let makeServer: @Sendable () throws -> KeychainServer

    /// `makeServer` is called once signals are waited for: whoever sees the socket may send one.
    init(
        _ manager: ServiceManager, _ log: Logger,
        makeServer: @escaping @Sendable () throws -> KeychainServer
    ) {
        self.manager = manager
        self.log = log
        self.makeServer = makeServer
    }

    /// Runs until the process gets SIGTERM, SIGINT or SIGHUP. The last is left alone where it was
    /// ignored when the process was started, as `nohup` has it.
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
                manager.tellAlive("\($0) connections")
            }
        }
        log.notice("ready")
        let locking = Task {
            for await _ in requests { server.lock() }
        }
        // It throws only where nothing could tell of a shutdown.
        try? await gracefulShutdown()
        locking.cancel()
        manager.tellStopping()
        await stop(server)
        log.notice("ended")
    }

    /// On a thread of its own: ending waits.
    private func stop(_ server: KeychainServer) async {
        await withCheckedContinuation { continuation in
            let end: @Sendable () -> Void = {
                server.stop()
                continuation.resume()
            }
            // Where the system gives no thread, this one waits.
            if !Threads.start(end) { end() }
        }
    }
}
