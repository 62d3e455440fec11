// EtcdFailure: the reason why a call failed, and whether its change may nevertheless have been
// made.
//   (1) No text contains a key, a value, a password or a token. A server's message is shown only if
//       it is one of etcd's messages listed here, since a server could send any text.

#if Synchronization

/// The failure of a call to etcd after all its attempts, or of a configuration.
package struct EtcdFailure: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The configuration can't be used; the text says why.
        case misconfigured(String)
        /// The node can't be reached, or the connection to it broke off.
        case unreachable
        /// The node's certificate isn't trusted, or the node rejects the client's certificate.
        case untrusted
        /// The user or the password is wrong or missing.
        case unauthenticated
        /// The user has no right to these keys.
        case permissionDenied
        /// The node didn't answer in time.
        case deadline
        /// etcd no longer has the requested revision, so the caller has to read all keys again.
        case compacted
        /// The answer isn't a valid answer of etcd; the text says what is wrong with it.
        case malformed(String)
        /// The answer has more bytes than this client accepts, or more than etcd's gateway accepts.
        /// The number is this client's limit.
        case answerTooLarge(Int)
        /// etcd answered with an error: a gRPC status code, and the message if it is one of etcd's.
        case serverError(code: Int, message: String)
    }

    package let reason: Reason
    /// The node that was tried last. `nil` if the configuration can't be used, and for some answers
    /// that can be decoded but aren't valid.
    package let node: String?
    /// For a call that changes something: whether the outcome of an attempt is unknown, because it
    /// got no answer, or one that doesn't rule out the change. The change may then have been made,
    /// or may still be made. Read the keys before you repeat the call.
    package let mayHaveBeenApplied: Bool

    init(_ reason: Reason, node: String? = nil, mayHaveBeenApplied: Bool = false) {
        (self.reason, self.node) = (reason, node)
        self.mayHaveBeenApplied = mayHaveBeenApplied
    }

    /// The server rejected each attempt to write a record, although the attempts were based on its
    /// own previous answers. If other clients change the record before each attempt, the failure is
    /// the same.
    package static let contradictory = EtcdFailure(
        .malformed("each attempt to write a record was rejected for no stated reason"))
}

extension EtcdFailure: CustomStringConvertible {
    package var description: String {
        [
            node.map { "etcd at \($0): " } ?? "etcd: ", reason.description,
            mayHaveBeenApplied ? " The change may nevertheless have been made." : "",
        ].joined()
    }
}

extension EtcdFailure.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .misconfigured(let what): what
        case .unreachable: "There is no connection. Check the endpoints, the network and the nodes."
        case .untrusted:
            "There is no trusted connection. Check that the node's certificate names the host of "
                + "the endpoint and is signed by a trusted authority, and that the node accepts "
                + "the client certificate."
        case .unauthenticated: "Authentication failed. Check the user name and the password."
        case .permissionDenied:
            "The user has no right to the circle's keys. Check that a user is configured, and "
                + "grant its role the right to read and write the prefix: etcdctl role "
                + "grant-permission --prefix."
        case .deadline:
            "There was no answer in time. Try again; check that most nodes of the cluster run."
        case .compacted: "etcd no longer has the revision. Read all keys again."
        case .malformed(let what):
            "The answer is not a valid answer of etcd: \(what). Check that the endpoint is etcd's "
                + "client URL."
        case .answerTooLarge(let limit):
            "The answer has more than \(limit) bytes, or more than etcd's gateway accepts. Ask for "
                + "fewer keys at a time."
        case .serverError(let code, let message):
            message.isEmpty
                ? "The server refused with code \(code) and an unknown message."
                : "The server refused with code \(code): \(message)."
        }
    }
}

extension EtcdFailure.Reason {
    /// Returns the server's message, or an empty text if it is not among the known ones.
    static func known(_ message: String) -> String {
        knownMessages.contains(message) ? message : ""
    }

    /// Error messages of etcd's `api/v3rpc/rpctypes/error.go` that can answer the requests of this
    /// module. Messages that another case of `Reason` represents are not among them.
    private static let knownMessages: Set<String> = [
        "etcdserver: authentication is not enabled", "etcdserver: corrupt cluster",
        "etcdserver: duplicate key given in txn request", "etcdserver: leader changed",
        "etcdserver: mvcc: database space exceeded",
        "etcdserver: mvcc: required revision is a future revision", "etcdserver: no leader",
        "etcdserver: not capable", "etcdserver: not leader", "etcdserver: request is too large",
        "etcdserver: request timed out",
        "etcdserver: request timed out, possibly due to connection lost",
        "etcdserver: request timed out, possibly due to previous leader failure",
        "etcdserver: request timed out, waiting for the applied index took too long",
        "etcdserver: rpc not supported for learner", "etcdserver: server stopped",
        "etcdserver: too many operations in txn request", "etcdserver: too many requests",
        "etcdserver: unhealthy cluster",
    ]
}

#endif
