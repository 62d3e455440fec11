// Console: the log that a developer reads. On Apple platforms that is the unified log, which
// Console.app and Xcode show; elsewhere it is swift-log, and the program says where it goes.

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

    /// Writes a line.
    ///
    /// - Parameter line: What everyone who reads the log may see: no value of an item.
    @Sendable static func log(_ line: String) {
        #if canImport(os)
        logger.notice("\(line, privacy: .public)")
        #else
        logger.notice("\(line)")
        #endif
    }
}
