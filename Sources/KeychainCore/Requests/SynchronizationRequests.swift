// SynchronizationRequests: the request by which items are exchanged with the other machines of a
// circle.
//   (1) The module `KeychainSynchronization` defines the content of the messages. This module and
//       the service only pass the messages on.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// Processes a synchronization message. Throws `unimplemented` if the program that has the
/// keychain open was built without the package trait `Synchronization`.
package struct Synchronize: GeneralRequest {
    package static let code = RequestCode.synchronize
    package var message: Data
    /// The recovery code, in the messages that have one.
    package var secret: SecretBytes?

    package init(_ message: Data, secret: SecretBytes? = nil) {
        self.message = message
        self.secret = secret
    }

    /// The answer's bytes, and the join token if the message asks for one.
    package struct Answer: Sendable {
        package var message: Data
        package var secret: SecretBytes?

        package init(_ message: Data, secret: SecretBytes? = nil) {
            self.message = message
            self.secret = secret
        }
    }

    /// A message can contain many versions of items, and can begin a session, which opens all
    /// synchronizable items.
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Answer {
        try executor.execute(self, as: caller)
    }
}
