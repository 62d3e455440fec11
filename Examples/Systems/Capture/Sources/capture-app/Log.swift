// The program's log on a terminal. On Apple platforms the system keeps it, and Console shows it.

#if canImport(os)
func startLog(isVerbose: Bool) {}
#else
import Logging

/// Sends the log to standard error: every operation or, unless the user asks for that, nothing. What
/// fails is said by the program itself.
func startLog(isVerbose: Bool) {
    LoggingSystem.bootstrap { label in
        var handler = StreamLogHandler.standardError(label: label)
        handler.logLevel = isVerbose ? .debug : .critical
        return handler
    }
}
#endif
