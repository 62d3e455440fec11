// EtcdConfiguration: the endpoints of an etcd cluster, the prefix of the keys, the client's
// credentials, and the time limits.
//   (1) Every endpoint is an https URL that contains no user or password.
//   (2) The prefix ends in a slash, so that the keys below `keychain/1` don't include those below
//       `keychain/10`.
//   (3) A description of the configuration contains no password, since the configuration has only a
//       closure that returns the password.

#if Synchronization

import FoundationEssentials

/// A cluster, and the prefix of the keys in it that the client uses.
package struct EtcdConfiguration: Sendable {
    /// A user that etcd itself manages, in addition to a client certificate or instead of one.
    package struct User: Sendable {
        package let name: String
        /// Called for each attempt to authenticate. A request waits for the password until its own
        /// deadline. If this closure throws, the requests that wait for the password throw the same
        /// error, because only the caller knows what the error means.
        package let password: @Sendable () async throws -> String

        package init(name: String, password: @escaping @Sendable () async throws -> String) {
            (self.name, self.password) = (name, password)
        }
    }

    /// The certificate of this client and its private key, both in PEM.
    ///
    /// If the cluster has users, etcd's gateway rejects a certificate with a common name. Issue the
    /// certificate without one.
    package struct ClientCertificate: Sendable {
        package let certificateFile: String
        package let keyFile: String

        package init(certificateFile: String, keyFile: String) {
            (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
        }
    }

    /// Base URLs of the nodes, without a slash at the end.
    let nodes: [String]
    /// The prefix of every key that the client uses. The callers of this module see keys without
    /// it.
    let prefix: EtcdKey
    let authorityFile: String?
    let clientCertificate: ClientCertificate?
    let user: User?
    let timing: EtcdTiming

    /// - Parameters:
    ///   - endpoints: The client URLs of the nodes, such as `https://etcd-1.example.org:2379`.
    ///   - prefix: The prefix of all keys that the client uses. A slash is added if the prefix
    ///     doesn't end in one.
    ///   - authorityFile: The certificate authorities for the nodes' certificates, in PEM. `nil`
    ///     for those of the system.
    ///   - clientCertificate: `nil` if the nodes require none.
    ///   - user: `nil` if the cluster has no users.
    ///   - timing: The time limits.
    /// - Throws: ``EtcdFailure`` with the reason ``EtcdFailure/Reason/misconfigured(_:)``.
    package init(
        endpoints: [String], prefix: String, authorityFile: String? = nil,
        clientCertificate: ClientCertificate? = nil, user: User? = nil,
        timing: EtcdTiming = EtcdTiming()
    ) throws {
        guard !endpoints.isEmpty else {
            throw EtcdFailure(.misconfigured("No endpoint of etcd is configured. Configure one."))
        }
        guard !prefix.isEmpty, prefix != "/" else {
            throw EtcdFailure(
                .misconfigured(
                    "The prefix of the keys is empty or a slash. Configure another one."))
        }
        nodes = try endpoints.map(Self.node)
        self.prefix = EtcdKey(prefix.utf8.last == UInt8(ascii: "/") ? prefix : prefix + "/")
        self.authorityFile = authorityFile
        self.clientCertificate = clientCertificate
        self.user = user
        self.timing = timing
    }

    /// The error doesn't repeat the text of a rejected URL, since it could contain a password.
    private static func node(_ text: String) throws -> String {
        guard let url = URLComponents(string: text), url.scheme?.lowercased() == "https",
            let host = url.host, !host.isEmpty
        else { throw EtcdFailure(.misconfigured("An endpoint is not an https URL.")) }
        guard url.user == nil, url.password == nil else {
            throw EtcdFailure(
                .misconfigured(
                    "An endpoint contains a user or a password. Configure them separately."))
        }
        guard url.path.isEmpty || url.path == "/", url.query == nil, url.fragment == nil else {
            throw EtcdFailure(
                .misconfigured("An endpoint contains more than scheme, host and port."))
        }
        return "https://\(host)" + (url.port.map { ":\($0)" } ?? "")
    }
}

/// The time limits of a client.
package struct EtcdTiming: Sendable {
    /// The time limit of one request to one node, including the wait for an authentication. After
    /// it, the next node is tried.
    package var tryDeadline: Duration = .seconds(2)
    /// The time after which no further attempt of a request begins.
    package var overallDeadline: Duration = .seconds(15)
    /// The upper bound of the pause after the first round, in which every node has failed once. The
    /// bound doubles from round to round, up to `longestPause`.
    package var firstPause: Duration = .milliseconds(100)
    package var longestPause: Duration = .seconds(2)
    /// The interval at which a watch checks that its node is alive and has a leader.
    package var watchCheckInterval: Duration = .seconds(15)
    /// The number of these intervals, at least 2, after which a watch begins again at the revision
    /// that it has reached. So the watch also notices events that an intermediary between this
    /// process and the node, such as a proxy, has held back.
    package var watchCheckCount = 4
    /// Waits for a time. Tests replace it.
    package var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    package init() {}

    /// The pause after a round; the first round has the number 1. The pause is a random part, at
    /// least half, of the upper bound for this round, so that clients that failed at the same time
    /// don't retry at the same time.
    func pauseLength(round: Int) -> Duration {
        let longest = min(firstPause * (1 << min(max(round - 1, 0), 16)), longestPause)
        return longest * Double.random(in: 0.5...1)
    }
}

#endif
