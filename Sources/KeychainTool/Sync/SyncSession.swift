// SyncSession: a keychain and the server of its circle.
//   (1) The keychain is opened before the client's private key or anything from the server is read,
//       since a service has to identify this program before the program holds a secret.

#if Synchronization

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainEtcd
import KeychainRelay
import KeychainRuntime
import KeychainSynchronization

struct SyncSession {
    let keychain: SyncKeychain
    let relay: Relay

    /// The maximum number of attempts while another process synchronizes the same keychain, and of
    /// exchanges until a signed change is in the membership log.
    private static let attemptCount = 10
    private static let pause = Duration.milliseconds(500)

    /// Opens the keychain, and creates it if it doesn't exist.
    init(making options: SyncOptions) throws {
        let configuration = try options.configuration()
        try self.init(SyncKeychain(making: options.passcode.source), configuration)
    }

    /// Opens the existing keychain.
    ///
    /// - Throws: ``ControlFailure/noCircle`` if there is no keychain.
    init(existing options: SyncOptions) throws {
        let configuration = try options.configuration()
        try self.init(SyncKeychain(existing: options.passcode.source), configuration)
    }

    init(_ keychain: SyncKeychain, _ configuration: SyncConfiguration) throws {
        self.keychain = keychain
        let handler = keychain.session.keychain
        relay = Relay(
            EtcdStore(try EtcdClient(configuration.etcd)),
            absenceLimit: configuration.absenceLimit
        ) { request throws(KeychainFailure) in
            try handler.perform(request)
        }
    }

    var store: any RecordStore { relay.store }

    func close() { keychain.close() }

    // MARK: Exchanging

    /// Runs asynchronous work. At a terminal, a line on standard error shows `what` meanwhile.
    func showing<Value: Sendable>(
        _ what: String, _ work: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let line = ProgressLine()
        line.show(what + " …")
        defer { line.end() }
        return try AsyncWork.wait(for: work)
    }

    /// Exchanges everything with the server.
    @discardableResult
    func settle() throws -> Demand {
        let relay = relay
        return try showing("synchronizing") { try await Self.settle(relay) }
    }

    private static func settle(_ relay: Relay) async throws -> Demand {
        for _ in 1..<attemptCount {
            do {
                return try await relay.settle()
            } catch let failure as KeychainFailure where failure.cause == .contention {
                try await Task.sleep(for: pause)
            }
        }
        return try await relay.settle()
    }

    /// Repeats the exchange with the server until the membership change that this machine has
    /// signed is in the membership log.
    ///
    /// - Throws: ``ControlFailure`` if the change isn't in the membership log after 10 exchanges.
    ///   The keychain keeps the signed change, and later exchanges send it.
    func settleChange() throws {
        for _ in 0..<Self.attemptCount {
            try settle()
            guard try keychain.status().isChangeWaiting else { return }
            try AsyncWork.wait { try await Task.sleep(for: Self.pause) }
        }
        throw ControlFailure(
            .failure,
            "The change was made on this machine, but the server doesn't have it yet. `keychainctl "
                + "sync run` sends it.")
    }

    /// The circle that this machine is in, once the machine has read all that the server shows of
    /// it.
    struct Membership {
        let circle: CircleID
        let machine: MachineID
        /// The head of the membership log in the keychain.
        let head: LogHead
        let status: CircleStatus
    }

    /// Unlocks the keychain, exchanges everything, and returns the state.
    ///
    /// - Throws: ``ControlFailure`` if the keychain can't be unlocked, if this machine is in no
    ///   circle or was removed from it, or if the server doesn't show all that the machines of the
    ///   circle wrote.
    func membership() throws -> Membership {
        try keychain.requireUnlocked()
        var demand = try settle()
        if demand.state != .current {
            // A machine that was suspended reads everything a second time after it has appended its
            // first entry since the suspension.
            demand = try settle()
        }
        switch demand.state {
        case .none: throw ControlFailure.noCircle
        case .locked: throw try keychain.lockedFailure
        case .removed: throw ControlFailure.removedFromCircle
        case .restoring, .comparing:
            throw ControlFailure(
                .failure,
                "The server doesn't show everything that the machines of the circle wrote. "
                    + "`keychainctl sync status` says what is missing.")
        case .current: break
        }
        guard let digest = Digest(demand.circle) else {
            throw ControlFailure(
                .failure, "The keychain's answer can't be read: it has another version.")
        }
        let answer = try keychain.send(.membershipHead).message
        return Membership(
            circle: CircleID(digest), machine: MachineID(demand.machine),
            head: try MembershipHead(messageBytes: answer).head, status: try keychain.status())
    }

    // MARK: The server's circles

    /// The circle whose identifier begins with the given digits or, with `nil`, the only one on the
    /// server.
    ///
    /// - Throws: ``ControlFailure`` unless exactly one circle matches;
    ///   ``JoiningFailure/tooManyCircles`` if more than 255 names on the server begin with the
    ///   digits, including names that aren't identifiers of circles.
    func circle(beginningWith digits: String?) throws -> CircleID {
        let directory = CircleDirectory(store)
        let digits = digits?.lowercased() ?? ""
        guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw ControlFailure(
                .failure, "The identifier of a circle consists of hexadecimal digits.")
        }
        let matching = try showing("looking for circles") {
            try await directory.circles(beginningWith: digits)
        }
        guard let circle = matching.first else {
            throw ControlFailure(
                .notFound,
                digits.isEmpty
                    ? "The server has no circle. `keychainctl sync found` founds one; if there "
                        + "should be one, check the endpoints and the prefix in the configuration."
                    : "The server has no circle whose identifier begins with these digits.")
        }
        guard matching.count == 1 else {
            throw ControlFailure(
                .failure,
                "\(matching.count) circles match. Specify one with --circle: "
                    + matching.map(\.description).joined(separator: ", ") + ".")
        }
        return circle
    }
}

#endif
