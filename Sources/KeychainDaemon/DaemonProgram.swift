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
    /// What the change log calls this version.
    static let version = "unreleased"

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

    private static func run(_ command: DaemonCommand) async throws {
        let manager = try ServiceManager.current()
        let format = command.logFormat
        let level = command.logLevel
        LoggingSystem.bootstrap { _ in DaemonLogHandler(format: format, level: level) }
        let log = Logger(label: "keychaind")
        var configuration = try command.daemonConfiguration(
            ProcessEnvironment.variables,
            executable: Files.target(ofLink: "/proc/self/exe"))
        configuration.engine.hardware = PlatformHardware.current
        configuration.engine.machine = .current(chip: PlatformHardware.current)
        configuration.engine.credential = { ServiceCredential.read() }
        let server = try KeychainServer(
            configuration, socket: manager.socket, credentialSocket: manager.credentialSocket,
            ownSockets: manager.ownSockets, log: log)
        try await DaemonService(server, manager, log).runUntilTold()
    }
}

// MARK: - The end of a service

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
        if let time = manager.watchdogTime {
            server.showLife(within: time) { [manager] in
                manager.tellAlive("\($0) connections")
            }
        }
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
            let end: @Sendable () -> Void = {
                server.stop()
                continuation.resume()
            }
            // Where the system gives no thread, this one waits.
            if !Threads.start(end) { end() }
        }
    }
}
