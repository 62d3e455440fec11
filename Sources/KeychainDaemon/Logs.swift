// Logs: the events that the service logs, and the format in which log lines reach standard error.
//   (1) The log line of a request contains the operation, the names of attributes, the status, the
//       duration and the peer. No log line contains a secret. None contains the value of an
//       attribute, except that the line about a credential that systemd requests names the
//       credential and its unit.
//   (2) Log lines are either text for people or JSON for programs.
//   (3) The message is the service's own text. The only data in it are numbers and hashes. Other
//       data, such as a path, is in a field, quoted and escaped, so that neither lines nor fields
//       can be forged.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
package import Logging
import Synchronization

// MARK: - What is logged

struct AuditLog: Sendable {
    let log: Logger
    private let tally: RefusalTally

    init(log: Logger, tally: RefusalTally = RefusalTally()) {
        self.log = log
        self.tally = tally
    }

    /// Logs that a request was answered.
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

    private static func fields(_ peer: PeerName, _ reason: String? = nil) -> Logger.Metadata {
        var fields: Logger.Metadata = [
            "pid": "\(peer.pid)", "uid": "\(peer.uid)", peer.key: "\(peer.name)",
        ]
        fields["reason"] = reason.map { "\($0)" }
        return fields
    }

    func connected(_ peer: PeerName) {
        log.debug("connected", metadata: Self.fields(peer))
    }

    func disconnected(_ peer: PeerName) {
        log.debug("disconnected", metadata: Self.fields(peer))
    }

    /// Logs that a caller was refused before it became a client.
    func refused(_ refusal: PeerRefusal, _ user: uid_t?) {
        let kind = RefusalTally.Kind(message: "refused", user: user, subject: refusal.kind)
        guard tally.tells(kind) else { return }
        log.warning("refused", metadata: ["reason": "\(refusal)"])
    }

    /// Logs that a client was identified but has no access.
    func withoutAccess(_ peer: PeerName, _ reason: String) {
        guard tells("no access", of: peer) else { return }
        log.warning("no access", metadata: Self.fields(peer, reason))
    }

    /// Logs that a connection was closed because of what the client sent or failed to receive.
    func broken(_ peer: PeerName, _ reason: String) {
        guard tells("ended", of: peer) else { return }
        log.warning("ended", metadata: Self.fields(peer, reason))
    }

    private func tells(_ message: String, of peer: PeerName) -> Bool {
        tally.tells(
            RefusalTally.Kind(message: message, user: peer.uid, subject: peer.name))
    }

    /// Logs how many refusals in this interval got no log line of their own. Does nothing until the
    /// interval is over, unless `atOnce` is `true`.
    func tellCounts(atOnce: Bool = false) {
        for (kind, count) in tally.take(atOnce: atOnce) {
            var fields: Logger.Metadata = ["count": "\(count)", "reason": "\(kind.subject)"]
            fields["uid"] = kind.user.map { "\($0)" }
            log.warning("\(kind.message)", metadata: fields)
        }
    }

    func note(_ text: String) { log.notice("\(text)") }

    /// Logs a notice. Only the reason may contain data from others.
    func note(_ message: String, reason: String) {
        log.notice("\(message)", metadata: ["reason": "\(reason)"])
    }

    /// Logs an error. Only the reason may contain data from others.
    func problem(_ message: String, reason: String) {
        log.error("\(message)", metadata: ["reason": "\(reason)"])
    }
}

// MARK: - Log lines

/// The format of log lines.
package enum LogLineFormat: String, CaseIterable, Sendable {
    /// Level, message and `key=value`. The program that collects the lines, such as systemd's
    /// journal, adds the time.
    case text
    /// One JSON object per line, all of whose values are strings: `time`, `level`, `message` and
    /// the fields.
    case json
}

package struct DaemonLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let format: LogLineFormat
    private let write: @Sendable (String) -> Void

    /// `write` is called for each line, with its newline.
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
        write(Self.line(format, event.level, "\(event.message)", fields))
    }

    static func line(
        _ format: LogLineFormat, _ level: Logger.Level, _ message: String,
        _ fields: [String: String]
    ) -> String {
        switch format {
        case .text: text(level, message, fields)
        case .json: json(level, message, fields)
        }
    }

    /// The order of the fields. Others follow in alphabetical order.
    private static let order = [
        "query", "status", "microseconds", "count", "pid", "uid", "executable", "sandbox",
        "command", "unit",
        "socket", "reason",
    ]

    private static func text(
        _ level: Logger.Level, _ message: String, _ fields: [String: String]
    ) -> String {
        // Escaped, but without the quotation marks.
        var line = "\(level.rawValue) \(quoted(message).dropFirst().dropLast())"
        let places = fields.map { (order.firstIndex(of: $0.key) ?? order.count, $0.key, $0.value) }
        for (_, name, value) in places.sorted(by: { ($0.0, $0.1) < ($1.0, $1.1) }) {
            append(name, value, to: &line)
        }
        return line + "\n"
    }

    private static func append(_ name: String, _ value: String, to line: inout String) {
        line += " \(name)=\(isNumber(value) ? value : quoted(value))"
    }

    private static func isNumber(_ value: String) -> Bool {
        let digits = value.hasPrefix("-") ? value.utf8.dropFirst() : value.utf8[...]
        return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func json(
        _ level: Logger.Level, _ message: String, _ fields: [String: String]
    ) -> String {
        var object = fields
        object["time"] = Date.ISO8601FormatStyle.iso8601.year().month().day()
            .time(includingFractionalSeconds: true).format(.now)
        object["level"] = level.rawValue
        object["message"] = message
        let members = object.sorted { $0.key < $1.key }
            .map { "\(quotedAsJSON($0.key)):\(quotedAsJSON($0.value))" }
        return "{\(members.joined(separator: ","))}\n"
    }

    /// Writes lines to standard error under a lock, so that the lines of several threads don't mix.
    package static let writeToStandardError: @Sendable (String) -> Void = { lines in
        standardError.withLock { _ in write(lines, to: STDERR_FILENO) }
    }

    private static let standardError = Mutex(())

    /// Writes lines, and waits until the descriptor accepts them even if it is non-blocking.
    static func write(_ lines: String, to descriptor: Int32) {
        _ = Descriptor.write(Array(lines.utf8), to: descriptor, waits: true)
    }
}
