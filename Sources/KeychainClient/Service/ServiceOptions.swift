// ServiceOptions: how long a client waits, and whom it takes for the service.

import Glibc
import KeychainWire

/// How a client speaks to the service.
package struct ServiceOptions: Sendable {
    /// The longest that connecting takes, with all that goes before the first request.
    package var connectionTime: Duration
    /// The longest that a request waits for its answer.
    package var requestTime: Duration
    /// The same for requests that derive keys from passwords, which is slow on purpose.
    package var derivationTime: Duration
    /// The longest silence during a check.
    package var checkTime: Duration
    /// The most bytes of a message.
    package var messageByteCount: Int
    /// The most connections that are kept while nobody uses them.
    package var idleConnectionCount: Int
    /// Whether a user may run the service. Secrets go to nobody else.
    package var trusts: @Sendable (_ userID: UInt32) -> Bool

    package init(
        connectionTime: Duration = .seconds(10), requestTime: Duration = .seconds(60),
        derivationTime: Duration = .seconds(180), checkTime: Duration = .seconds(600),
        messageByteCount: Int = WireLimits.messageByteCount, idleConnectionCount: Int = 8,
        trusts: @escaping @Sendable (_ userID: UInt32) -> Bool = { $0 == 0 || $0 == geteuid() }
    ) {
        self.connectionTime = connectionTime
        self.requestTime = requestTime
        self.derivationTime = derivationTime
        self.checkTime = checkTime
        self.messageByteCount = messageByteCount
        self.idleConnectionCount = idleConnectionCount
        self.trusts = trusts
    }

    /// The longest that an operation waits for a sign of life.
    func time(for operation: ServiceOperation) -> Duration {
        if case .check = operation { return checkTime }
        return operation.derivesKeys ? derivationTime : requestTime
    }
}
