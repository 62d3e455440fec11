// EngineLog: what the keychain logs, as far as the tool has to tell.
//   (1) Nothing is printed: log lines would stand between those that the tool writes on purpose.
//   (2) An error that is logged is remembered: the engine passes over damaged items where whole
//       ones match, and says so in its log alone.

import Logging
import Synchronization

struct EngineLog: LogHandler {
    private static let errorCount = Atomic<Int>(0)

    /// Whether damaged items were passed over since the process started.
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
