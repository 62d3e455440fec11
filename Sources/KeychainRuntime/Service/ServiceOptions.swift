// ServiceOptions: how long a client waits, and whom it takes for the service.

import Glibc
import KeychainCore
import KeychainWire

/// How a client speaks to the service.
package struct ServiceOptions: Sendable {
    /// The longest that connecting takes, with all that goes before the first request.
    package var connectionTime: Duration
    /// The longest that a request waits for its answer.
    package var requestTime: Duration
    /// The same for requests that derive keys from passwords, which is slow on purpose.
    package var derivationTime: Duration
    /// The same for requests that may go through every item: a check, a change of whatever matches,
    /// a search without a limit. Where they tell of their progress or give a part of the answer,
    /// they have as long again.
    package var surveyTime: Duration
    /// The most bytes of a message.
    package var messageByteCount: Int
    /// The most connections that are kept while no thread uses them.
    package var idleConnectionCount: Int
    /// Whether a user may run the service. Secrets go to no other user's service.
    package var trusts: @Sendable (_ userID: UInt32) -> Bool

    package init(
        connectionTime: Duration = .seconds(10), requestTime: Duration = .seconds(60),
        derivationTime: Duration = .seconds(180), surveyTime: Duration = .seconds(600),
        messageByteCount: Int = WireLimits.messageByteCount, idleConnectionCount: Int = 8,
        trusts: @escaping @Sendable (_ userID: UInt32) -> Bool = { $0 == 0 || $0 == geteuid() }
    ) {
        self.connectionTime = connectionTime
        self.requestTime = requestTime
        self.derivationTime = derivationTime
        self.surveyTime = surveyTime
        self.messageByteCount = messageByteCount
        self.idleConnectionCount = idleConnectionCount
        self.trusts = trusts
    }

    /// The longest that a request waits for a sign of life.
    func time(for effort: RequestEffort) -> Duration {
        switch effort {
        case .few: requestTime
        case .derivation: derivationTime
        case .survey: surveyTime
        }
    }
}
