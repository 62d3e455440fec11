// AuditLog: what happened, for those who look after the service.
//   (1) A line holds names of operations and attributes, a status, and who asked; never a value of
//       an attribute and never a secret.

import KeychainCore
import Logging

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
