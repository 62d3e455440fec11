// EtcdCluster: an etcd cluster for one test. It has one node or several on loopback, TLS for
// clients and peers, and users if the test names any.
//   (1) Clients and peers need a certificate signed by the cluster's own certificate authority.
//   (2) All processes are killed, and the folder is removed, when the test ends.
//   (3) If a test asks for links, the nodes reach each other through links that the test can cut.

#if Synchronization

import Foundation
import Glibc
package import KeychainEtcd

package actor EtcdCluster {
    /// A user with a role that reads and writes the keys with one prefix.
    package struct User: Sendable {
        package let name: String
        package let password: String
        package let prefix: String

        package init(name: String, password: String, prefix: String) {
            (self.name, self.password, self.prefix) = (name, password, prefix)
        }
    }

    private static let rootPassword = "root of the test"

    package nonisolated let endpoints: [String]
    package nonisolated let certificates: TestCertificates
    /// For each node, the link through which the other nodes reach it. Empty if the nodes reach
    /// each other directly.
    package nonisolated let peerLinks: [TestLink]
    private let nodes: [EtcdNode]
    private let folder: URL
    private let hasUsers: Bool

    /// Runs a test with a cluster.
    ///
    /// - Parameters:
    ///   - count: The number of nodes.
    ///   - users: The users. Without users, the cluster requires no user name and password.
    ///   - hasPeerLinks: Whether the nodes reach each other through links.
    ///   - options: Further arguments for each node.
    ///   - test: The test.
    /// - Returns: What the test returns.
    /// - Throws: What the test throws; ``MissingProgram`` if etcd or OpenSSL isn't installed or
    ///   fails; the system's errors if the folder or a link can't be made.
    package static func with<Result: Sendable>(
        nodes count: Int, users: [User] = [], hasPeerLinks: Bool = false, options: [String] = [],
        _ test: @Sendable (EtcdCluster) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "etcd-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        // All ports are chosen at once, so that no link gets the port of a node.
        let free = FreePorts.some((hasPeerLinks ? 3 : 2) * count).map { Int($0) }
        let ports = Array(free.prefix(2 * count))
        var links: [TestLink] = []
        for (port, peer) in zip(free.dropFirst(2 * count), ports.suffix(count)) {
            links.append(try await TestLink(at: port, to: peer))
        }
        let cluster = try EtcdCluster(
            ports: ports, links: links, options: options, folder: folder,
            hasUsers: !users.isEmpty)
        do {
            try await cluster.start(users)
            let result = try await test(cluster)
            await cluster.end()
            return result
        } catch {
            await cluster.end()
            throw error
        }
    }

    private init(
        ports: [Int], links: [TestLink], options: [String], folder: URL, hasUsers: Bool
    ) throws {
        certificates = try TestCertificates(folder: folder)
        (self.folder, self.hasUsers) = (folder, hasUsers)
        // `ports` contains the nodes' ports for clients, followed by their ports for peers.
        let count = ports.count / 2
        let clients = ports.prefix(count).map { "https://127.0.0.1:\($0)" }
        let peers = ports.suffix(count).map { "https://127.0.0.1:\($0)" }
        let advertised = links.isEmpty ? peers : links.map(\.endpoint)
        endpoints = clients
        peerLinks = links
        let cluster = advertised.enumerated().map { "n\($0)=\($1)" }.joined(separator: ",")
        nodes = (0..<count).map { [certificates] index in
            EtcdNode(
                arguments: [
                    "--name", "n\(index)", "--data-dir", folder.appending(path: "n\(index)").path,
                    "--listen-client-urls", clients[index],
                    "--advertise-client-urls", clients[index],
                    "--listen-peer-urls", peers[index],
                    "--initial-advertise-peer-urls", advertised[index],
                    "--initial-cluster", cluster,
                    "--initial-cluster-token", folder.lastPathComponent,
                    "--cert-file", certificates.server, "--key-file", certificates.serverKey,
                    "--trusted-ca-file", certificates.authority, "--client-cert-auth",
                    "--peer-cert-file", certificates.server,
                    "--peer-key-file", certificates.serverKey,
                    "--peer-trusted-ca-file", certificates.authority, "--peer-client-cert-auth",
                    "--heartbeat-interval", "100", "--election-timeout", "1000",
                    "--auth-token", "simple", "--bcrypt-cost", "4", "--logger", "zap",
                    "--log-level", "warn",
                ] + options, log: folder.appending(path: "n\(index).log"))
        }
    }

    private func start(_ users: [User]) async throws {
        for node in nodes { try node.start() }
        for index in nodes.indices { try await waitUntilReady(index) }
        guard hasUsers else { return }
        try control(["user", "add", "root:\(Self.rootPassword)"])
        try control(["user", "grant-role", "root", "root"])
        for user in users {
            try control(["role", "add", user.name])
            try control([
                "role", "grant-permission", "--prefix=true", user.name, "readwrite", user.prefix,
            ])
            try control(["user", "add", "\(user.name):\(user.password)"])
            try control(["user", "grant-role", user.name, user.name])
        }
        try control(["auth", "enable"])
    }

    private func end() {
        for node in nodes { node.kill() }
    }

    /// Waits until a node takes part in the cluster.
    private func waitUntilReady(_ index: Int) async throws {
        let client = try EtcdClient(configuration(nodes: [index]))
        do {
            // A cluster with users refuses this request, which also shows that the node is ready.
            _ = try await client.get("readiness")
        } catch let failure as EtcdFailure where failure.reason == .permissionDenied {
        } catch {
            throw MissingProgram(
                description: "etcd did not start: \(error)\n\(nodes[index].lastWords)")
        }
        await client.shutDown()
    }

    // MARK: For tests

    /// The default limits, with more time for each call, because the machine runs many other tests.
    package static var patient: EtcdTiming {
        var timing = EtcdTiming()
        timing.overallDeadline = .seconds(60)
        return timing
    }

    /// The configuration of a client for some of the nodes, in this order, or for all of them.
    package func configuration(
        prefix: String = "test/", nodes chosen: [Int]? = nil, user: User? = nil,
        timing: EtcdTiming = patient
    ) throws -> EtcdConfiguration {
        try EtcdConfiguration(
            endpoints: (chosen ?? Array(endpoints.indices)).map { endpoints[$0] }, prefix: prefix,
            authorityFile: certificates.authority,
            clientCertificate: .init(
                certificateFile: certificates.client, keyFile: certificates.clientKey),
            user: user.map { user in .init(name: user.name, password: { user.password }) },
            timing: timing)
    }

    /// Kills a node.
    package func kill(_ index: Int) { nodes[index].kill() }

    /// Starts a node that was killed, with its data, and waits until it is ready.
    package func restart(_ index: Int) async throws {
        try nodes[index].start()
        try await waitUntilReady(index)
    }

    // MARK: The content

    /// The folders with the data of all nodes.
    private var dataFolders: [URL] {
        nodes.indices.map { folder.appending(path: "n\($0)") }
    }

    /// Keeps the present data as the backup, which replaces any earlier backup. Kills the nodes
    /// first, and starts them again afterwards.
    package func backUp() async throws {
        try await withoutNodes {
            for data in dataFolders {
                let backup = data.appendingPathExtension("backup")
                try? FileManager.default.removeItem(at: backup)
                try FileManager.default.copyItem(at: data, to: backup)
            }
        }
    }

    /// Replaces the present data with the backup. Kills the nodes first, and starts them again
    /// afterwards.
    package func restoreBackup() async throws {
        try await withoutNodes {
            for data in dataFolders {
                try FileManager.default.removeItem(at: data)
                try FileManager.default.copyItem(
                    at: data.appendingPathExtension("backup"), to: data)
            }
        }
    }

    private func withoutNodes(_ change: () throws -> Void) async throws {
        for node in nodes { node.kill() }
        try change()
        for node in nodes { try node.start() }
        for index in nodes.indices { try await waitUntilReady(index) }
    }

    /// Deletes all keys.
    package func wipe() throws { try administer(["del", "", "--from-key"]) }

    /// All keys with a prefix and their values, as `etcdctl` prints them in JSON.
    package func dump(_ prefix: String) throws -> String {
        try administer(["get", "--prefix", prefix, "--write-out", "json"])
    }

    /// Runs `etcdctl` with all rights.
    ///
    /// - Returns: What it wrote to its output and to its standard error.
    @discardableResult
    package func administer(_ arguments: [String], at index: Int = 0) throws -> String {
        try control(
            arguments + (hasUsers ? ["--user=root:\(Self.rootPassword)"] : []), at: index)
    }

    /// Whether any file in the cluster's folder, such as a node's database, contains a text.
    package func filesContain(_ text: String) throws -> Bool {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            let content: Data
            do {
                let values = try file.resourceValues(forKeys: [.isDirectoryKey])
                if values.isDirectory == true { continue }
                content = try Data(contentsOf: file, options: .mappedIfSafe)
            } catch CocoaError.fileReadNoSuchFile {
                // A node has removed the file in the meantime.
                continue
            }
            if content.range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }

    /// Suspends a node with SIGSTOP. Its connections stay open.
    package func suspend(_ index: Int) { nodes[index].send(SIGSTOP) }

    package func resume(_ index: Int) { nodes[index].send(SIGCONT) }

    /// The index of the cluster's leader. Waits until there is one.
    package func leader() async throws -> Int {
        while true {
            for index in nodes.indices {
                if let status = try? status(of: index), status.leader == status.header.member {
                    return index
                }
            }
            try Task.checkCancellation()
        }
    }

    /// The size of the first node's database.
    package func databaseByteCount() throws -> Int64 { try status(of: 0).databaseByteCount }

    private func status(of index: Int) throws -> NodeStatus {
        let text = try administer(["endpoint", "status", "--write-out", "json"], at: index)
        let answers = try JSONDecoder().decode([NodeAnswer].self, from: Data(text.utf8))
        guard let answer = answers.first else {
            throw MissingProgram(description: "etcdctl shows no status of a node")
        }
        return answer.status
    }

    /// Makes etcd compact its history: etcd deletes the values that were superseded at or before
    /// the given revision.
    package func compact(_ revision: Int64) throws {
        try administer(["compaction", String(revision)])
    }

    @discardableResult
    private func control(_ arguments: [String], at index: Int = 0) throws -> String {
        try Program.run(
            "etcdctl", package: "etcd-server etcd-client",
            arguments + [
                "--endpoints=\(endpoints[index])", "--cacert=\(certificates.authority)",
                "--cert=\(certificates.client)", "--key=\(certificates.clientKey)",
            ], ["ETCDCTL_API": "3"])
    }
}

/// The state of a node, as `etcdctl endpoint status` prints it.
private struct NodeAnswer: Decodable {
    let status: NodeStatus

    enum CodingKeys: String, CodingKey { case status = "Status" }
}

private struct NodeStatus: Decodable {
    struct Header: Decodable {
        let member: UInt64

        enum CodingKeys: String, CodingKey { case member = "member_id" }
    }

    let header: Header
    /// The member that leads. 0 if none does.
    let leader: UInt64
    let databaseByteCount: Int64

    enum CodingKeys: String, CodingKey {
        case header, leader
        case databaseByteCount = "dbSize"
    }
}

enum FreePorts {
    /// Ports on loopback that nothing listens on, below Linux's default range of ephemeral ports.
    static func some(_ count: Int) -> [UInt16] {
        var ports: Set<UInt16> = []
        while ports.count < count {
            let port = UInt16.random(in: 20000..<32000)
            if isFree(port) { ports.insert(port) }
        }
        return Array(ports)
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // SAFETY: the address is a value of this function, and bind reads as many bytes as it has.
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

#endif
