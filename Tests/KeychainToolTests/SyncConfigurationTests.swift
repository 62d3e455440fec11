// SyncConfigurationTests: the setting `suspendAfter`, the time after which absent machines are
// suspended.

#if Synchronization

import Foundation
import Testing

@testable import KeychainTool

@Suite struct `The configuration of synchronization` {
    /// Reads a configuration file with `json` as the value of `suspendAfter`, or without this
    /// member.
    /// - Returns: The time in milliseconds, or 0 for “never”.
    private func limit(_ json: String?) throws -> Int64 {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "sync-\(UUID().uuidString).json")
        let setting = json.map { #", "suspendAfter": \#($0)"# } ?? ""
        #expect(
            FileManager.default.createFile(
                atPath: file.path,
                contents: Data(#"{"endpoints": ["https://localhost:1"]\#(setting)}"#.utf8),
                attributes: [.posixPermissions: 0o600]))
        defer { try? FileManager.default.removeItem(at: file) }
        return try SyncConfiguration(path: file.path).absenceLimit
    }

    /// The limits and the default are from the section "sync" of Documentation/keychainctl.md.
    @Test(arguments: [
        (nil, 60), (#""never""#, 0), (#""1d""#, 1), (#""24h""#, 1), (#""60d""#, 60),
        (#""366d""#, 366), ("null", 60),
    ])
    func `machines are suspended after 1 to 366 days, by default 60, or never`(
        _ json: String?, _ days: Int64
    ) throws {
        #expect(try limit(json) == days * 86_400_000)
    }

    @Test(arguments: [
        "0d", "23h", "86399s", "367d", "8785h", "-1d", "1.5d", "d", "60", "60w", "60 d", " 60d",
        "60D",
        "", "Never", "0", "9223372036854775807d", "9223372036854775808d", "60d\u{2028}",
    ])
    func `an invalid suspension time is refused, and the error states the allowed times`(
        _ text: String
    ) throws {
        let failure = try #require(throws: ControlFailure.self) { try limit("\"\(text)\"") }
        #expect(
            failure.message.hasSuffix(
                "can't be used: “suspendAfter” must be a duration from “1d” to “366d”, or "
                    + "“never”."), "\(failure.message)")
    }

    @Test(arguments: ["60", "true", #"["60d"]"#, "{}"])
    func `a suspension time that isn't a string is refused`(_ json: String) {
        #expect(throws: ControlFailure.self) { try limit(json) }
    }
}

#endif
