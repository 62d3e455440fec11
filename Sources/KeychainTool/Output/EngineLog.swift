// EngineLog: handles the keychain's log messages.
//   (1) Nothing is printed: log lines would be mixed with the tool's output.
//   (2) Logged errors are counted. If a search matches intact items, the engine returns them, skips
//       damaged items and reports the damaged items only in its log.

import Logging
import Synchronization

struct EngineLog: LogHandler {
    private static let errorCount = Atomic<Int>(0)

    /// Whether the engine in this process has reported damage, such as skipped items. A service's
    /// engine reports it in the service's log instead; see
    /// ``KeychainSession/hasSkippedDamage(_:)``.
    static var tellsOfDamage: Bool { errorCount.load(ordering: .relaxed) > 0 }

    static func install() {
        LoggingSystem.bootstrap { _ in EngineLog() }
    }

    var logLevel: Logger.Level = .error
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.level >= .error { Self.errorCount.wrappingAdd(1, ordering: .relaxed) }
    }
}
