// EtcdFailure: why a call failed, and whether its change may have been made nevertheless.
//   (1) No text holds a key, a value, a password or a token. What a server says is shown only if it
//       is one of the texts of etcd that stand here; a server could send anything.

#if Synchronization

/// What a call to etcd ended with, after all its tries.
package struct EtcdFailure: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The configuration can't be used; the text says why.
        case misconfigured(String)
        /// No connection.
        case unreachable
        /// The node's certificate isn't one to trust, or it rejects ours.
        case untrusted
        /// The user or the password is wrong or missing.
        case unauthenticated
        /// The user has no right to these keys.
        case permissionDenied
        /// No answer in time.
        case deadline
        /// The revision that was asked for is no longer kept. The number is the first that is, where
        /// etcd says so: read everything anew.
        case compacted(Int64?)
        /// An answer that etcd doesn't give; the text says what is wrong with it.
        case malformed(String)
        /// The answer has more than this number of bytes.
        case answerTooLarge(Int)
        /// What etcd answered: a code of gRPC, and the text if it is one of etcd's.
        case serverError(code: Int, message: String)
    }

    package let reason: Reason
    /// The node that was asked last.
    package let node: String?
    /// For a call that changes something: whether a try was left without an answer, so that the
    /// change may have been made, or may still be. Read the keys before you decide.
    package let mayHaveBeenApplied: Bool

    init(_ reason: Reason, node: String? = nil, mayHaveBeenApplied: Bool = false) {
        (self.reason, self.node) = (reason, node)
        self.mayHaveBeenApplied = mayHaveBeenApplied
    }
}

extension EtcdFailure: CustomStringConvertible {
    package var description: String {
        [
            node.map { "etcd at \($0): " } ?? "etcd: ", reason.description,
            mayHaveBeenApplied ? " The change may have been made nevertheless." : "",
        ].joined()
    }
}

extension EtcdFailure.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .misconfigured(let what): what
        case .unreachable: "No connection. Check the endpoints, the network and the nodes."
        case .untrusted:
            "No trusted connection. Check that the node's certificate names this host and is signed "
                + "by the configured authority, and that the node accepts the client certificate."
        case .unauthenticated: "Not authenticated. Check the user name and the password."
        case .permissionDenied:
            "No right to the circle's keys. Check that a user is configured, and grant its role "
                + "reading and writing of the prefix: etcdctl role grant-permission --prefix."
        case .deadline: "No answer in time. Try again; check that most nodes of the cluster run."
        case .compacted: "The revision is no longer kept. Read everything anew."
        case .malformed(let what):
            "The answer is not one of etcd: \(what). Check that the endpoint is etcd's client URL."
        case .answerTooLarge(let limit):
            "The answer has more than \(limit) bytes. Ask for fewer keys at a time."
        case .serverError(let code, let message):
            message.isEmpty
                ? "The server refused with code \(code), and a text that is not etcd's."
                : "The server refused with code \(code): \(message)."
        }
    }
}

extension EtcdFailure.Reason {
    /// A text of the server, or nothing if it is not one that etcd is known to send.
    static func known(_ message: String) -> String {
        knownMessages.contains(message) ? message : ""
    }

    /// From etcd's `api/v3rpc/rpctypes/error.go`: those that these requests can be answered with.
    private static let knownMessages: Set<String> = [
        "etcdserver: authentication is not enabled", "etcdserver: corrupt cluster",
        "etcdserver: duplicate key given in txn request", "etcdserver: leader changed",
        "etcdserver: mvcc: database space exceeded",
        "etcdserver: mvcc: required revision is a future revision", "etcdserver: no leader",
        "etcdserver: not capable", "etcdserver: not leader", "etcdserver: request is too large",
        "etcdserver: request timed out",
        "etcdserver: request timed out, possibly due to connection lost",
        "etcdserver: request timed out, possibly due to previous leader failure",
        "etcdserver: rpc not supported for learner", "etcdserver: server stopped",
        "etcdserver: too many operations in txn request", "etcdserver: too many requests",
        "etcdserver: unhealthy cluster",
    ]
}

#endif
