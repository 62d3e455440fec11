// Logs: what happened, for those who look after the service, and how log lines reach standard
// error.
//   (1) A line of the audit log holds names of operations and attributes, a status, and who asked;
//       never a value of an attribute and never a secret.
//   (2) Log lines are written for people or for programs.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
package import Logging
import Synchronization

// MARK: - The audit log

struct AuditLog: Sendable {
    let log: Logger

    /// A request was answered.
    func request(
        _ operation: String, _ shape: String?, of peer: PeerName, status: Status, duration: Duration
    ) {
        log.info("\(operation)", metadata: fields(operation, shape, peer, status, duration))
    }

    private func fields(
        _ operation: String, _ shape: String?, _ peer: PeerName, _ status: Status,
        _ duration: Duration
    ) -> Logger.Metadata {
        var fields = Self.fields(peer)
        fields["query"] = shape.map { "\($0)" }
        fields["status"] = "\(status.rawValue)"
        fields["microseconds"] = "\(Int(duration / .microseconds(1)))"
        return fields
    }

    private static func fields(_ peer: PeerName) -> Logger.Metadata {
        ["pid": "\(peer.pid)", "uid": "\(peer.uid)", "executable": "\(peer.executable)"]
    }

    func connected(_ peer: PeerName) {
        log.debug("connected", metadata: Self.fields(peer))
    }

    func disconnected(_ peer: PeerName) {
        log.debug("disconnected", metadata: Self.fields(peer))
    }

    /// A caller isn't spoken to.
    func refused(_ refusal: PeerRefusal) {
        log.warning("refused: \(refusal)")
    }

    /// A peer is spoken to and gets nothing.
    func withoutAccess(_ peer: PeerName, _ reason: String) {
        log.warning("no access: \(reason)", metadata: Self.fields(peer))
    }

    /// A connection was ended because of what came over it.
    func broken(_ peer: PeerName, _ reason: String) {
        log.warning("ended: \(reason)", metadata: Self.fields(peer))
    }

    func note(_ text: String) { log.notice("\(text)") }

    func problem(_ text: String) { log.error("\(text)") }
}

// MARK: - Log lines

/// How log lines look.
package enum LogLineFormat: String, CaseIterable, Sendable {
    /// Level, message and `key=value`. The time is left to the program that takes the lines, such
    /// as systemd's journal.
    case text
    /// An object of texts for each line: `time`, `level`, `message` and the fields.
    case json
}

package struct DaemonLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let format: LogLineFormat
    private let write: @Sendable (String) -> Void

    /// `write` takes each line, with its end.
    package init(
        format: LogLineFormat, level: Logger.Level,
        write: @escaping @Sendable (String) -> Void = Self.writeToStandardError
    ) {
        self.format = format
        logLevel = level
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
        switch format {
        case .text: write(Self.text(event.level, "\(event.message)", fields))
        case .json: write(Self.json(event.level, "\(event.message)", fields))
        }
    }

    /// The order in which fields stand; others follow.
    private static let order = ["query", "status", "microseconds", "pid", "uid", "executable"]

    private static func text(
        _ level: Logger.Level, _ message: String, _ fields: [String: String]
    ) -> String {
        let names =
            order.filter { fields[$0] != nil } + fields.keys.filter { !order.contains($0) }.sorted()
        let texts = names.map { name in
            let value = fields[name] ?? ""
            let isPlain = !value.isEmpty && value.unicodeScalars.allSatisfy(isPlainCharacter)
            return "\(name)=\(isPlain ? value : quoted(value))"
        }
        return ([level.rawValue, quotedLines(message)] + texts).joined(separator: " ") + "\n"
    }

    private static func isPlainCharacter(_ character: UnicodeScalar) -> Bool {
        character.value > 0x20 && character.value != 0x7F && character != "\"" && character != "\\"
    }

    /// A path may hold anything: no line can look like two.
    private static func quoted(_ text: String) -> String {
        "\"\(quotedLines(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")))\""
    }

    private static func quotedLines(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            if character.value < 0x20 || character.value == 0x7F {
                result += "\\u{\(String(character.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private static func json(
        _ level: Logger.Level, _ message: String, _ fields: [String: String]
    ) -> String {
        var object = fields
        object["time"] = Date.ISO8601FormatStyle.iso8601.year().month().day()
            .time(includingFractionalSeconds: true).format(.now)
        object["level"] = level.rawValue
        object["message"] = message
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(object) else { return "" }
        return String(decoding: line, as: UTF8.self) + "\n"
    }

    /// In one call for each line, so that lines of several threads don't mix.
    package static let writeToStandardError: @Sendable (String) -> Void = { line in
        let bytes = Array(line.utf8)
        standardError.withLock { _ in
            _ = Descriptor.write(bytes, to: STDERR_FILENO)
        }
    }

    private static let standardError = Mutex(())
}
