// Console: the log for developers. On Apple platforms, this is the unified log, which Console.app
// and Xcode show. On other platforms, swift-log writes the log, and the program chooses the
// destination.

#if canImport(os)
import os
#else
import Logging
#endif

enum Console {
    #if canImport(os)
    private static let logger = Logger(
        subsystem: KeychainService.service, category: "keychain")
    #else
    private static let logger = Logger(label: KeychainService.service)
    #endif

    /// Writes a line to the log.
    ///
    /// - Parameter line: The line. It must not contain the value of an item, because all readers of
    ///   the log can see it.
    @Sendable static func log(_ line: String) {
        #if canImport(os)
        logger.notice("\(line, privacy: .public)")
        #else
        logger.notice("\(line)")
        #endif
    }
}
