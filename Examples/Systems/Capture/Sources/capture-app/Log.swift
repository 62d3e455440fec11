// Log: the program's log on a terminal. On Apple platforms, the system keeps the log, and Console
// shows it.

#if canImport(os)
func startLog(isVerbose: Bool) {}
#else
import Logging

/// Sends the log to standard error. If `isVerbose` is true, every operation is logged; otherwise
/// nothing is logged, because the program itself reports failures.
func startLog(isVerbose: Bool) {
    LoggingSystem.bootstrap { label in
        var handler = StreamLogHandler.standardError(label: label)
        handler.logLevel = isVerbose ? .debug : .critical
        return handler
    }
}
#endif
