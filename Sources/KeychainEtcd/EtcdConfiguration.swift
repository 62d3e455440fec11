// EtcdConfiguration: where a cluster of etcd is, who this client is there, and how long it waits.
//   (1) Every endpoint is an https URL without a user or password in it.
//   (2) The prefix ends in a slash, so that no circle's prefix begins with another's.
//   (3) No description of it holds a password: it has only the closure that provides one.

#if Synchronization

import FoundationEssentials

/// A cluster, and the part of its keys that belongs to one circle.
package struct EtcdConfiguration: Sendable {
    /// A user of etcd's own, beside or instead of a client certificate.
    package struct User: Sendable {
        package let name: String
        /// Asked at each authentication: at first, and after a node or the token's lifetime ended it.
        package let password: @Sendable () async throws -> String

        package init(name: String, password: @escaping @Sendable () async throws -> String) {
            (self.name, self.password) = (name, password)
        }
    }

    /// A certificate for this client, and its key, both in PEM.
    ///
    /// With users, etcd's gateway refuses a certificate that has a common name: leave it out.
    package struct ClientCertificate: Sendable {
        package let certificateFile: String
        package let keyFile: String

        package init(certificateFile: String, keyFile: String) {
            (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
        }
    }

    /// Base URLs of the nodes, without a slash at the end.
    let nodes: [String]
    /// In front of every key, and in none that this module's callers see.
    let prefix: EtcdKey
    let authorityFile: String?
    let clientCertificate: ClientCertificate?
    let user: User?
    let timing: EtcdTiming

    /// - Parameters:
    ///   - endpoints: The nodes' client URLs, such as `https://etcd-1.example.org:2379`.
    ///   - prefix: What all keys of the circle begin with. A slash is added if it has none at its
    ///     end.
    ///   - authorityFile: Certificates in PEM that a node's certificate has to be signed by. nil: the
    ///     system's roots.
    ///   - clientCertificate: nil: the nodes ask for none.
    ///   - user: nil: the cluster has no users.
    ///   - timing: How long to wait.
    /// - Throws: ``EtcdFailure`` with the reason ``EtcdFailure/Reason/misconfigured(_:)``.
    package init(
        endpoints: [String], prefix: String, authorityFile: String? = nil,
        clientCertificate: ClientCertificate? = nil, user: User? = nil,
        timing: EtcdTiming = EtcdTiming()
    ) throws {
        guard !endpoints.isEmpty else {
            throw EtcdFailure(.misconfigured("There is no endpoint of etcd. Name one."))
        }
        guard !prefix.isEmpty, prefix != "/" else {
            throw EtcdFailure(.misconfigured("The prefix of the circle's keys is empty. Name one."))
        }
        nodes = try endpoints.map(Self.node)
        self.prefix = EtcdKey(prefix.utf8.last == UInt8(ascii: "/") ? prefix : prefix + "/")
        self.authorityFile = authorityFile
        self.clientCertificate = clientCertificate
        self.user = user
        self.timing = timing
    }

    /// The text of a URL that is rejected isn't repeated: a password could be in it.
    private static func node(_ text: String) throws -> String {
        guard let url = URLComponents(string: text), url.scheme?.lowercased() == "https",
            let host = url.host, !host.isEmpty
        else { throw EtcdFailure(.misconfigured("An endpoint is not an https URL.")) }
        guard url.user == nil, url.password == nil else {
            throw EtcdFailure(
                .misconfigured("An endpoint names a user or a password. Configure these apart."))
        }
        guard url.path.isEmpty || url.path == "/", url.query == nil, url.fragment == nil else {
            throw EtcdFailure(.misconfigured("An endpoint has more than scheme, host and port."))
        }
        return "https://\(host)" + (url.port.map { ":\($0)" } ?? "")
    }
}

/// How long this client waits, and for what.
package struct EtcdTiming: Sendable {
    /// Of one request to one node. Then the next node is asked.
    package var tryDeadline: Duration = .seconds(2)
    /// Of a call with all its tries.
    package var overallDeadline: Duration = .seconds(15)
    /// After each node has failed once. It doubles from round to round.
    package var firstPause: Duration = .milliseconds(100)
    package var longestPause: Duration = .seconds(2)
    /// Between two questions to the node of a watch whether it is alive and has a leader.
    package var watchCheckInterval: Duration = .seconds(15)
    /// Waits. Tests replace it.
    package var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    package init() {}

    /// After a number of rounds, 1 and up: between the half and the whole of what doubles, so that
    /// clients that failed together don't return together.
    func pauseLength(round: Int) -> Duration {
        let longest = min(firstPause * (1 << min(max(round - 1, 0), 16)), longestPause)
        return longest * Double.random(in: 0.5...1)
    }
}

#endif
