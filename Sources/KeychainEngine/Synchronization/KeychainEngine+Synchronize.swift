// KeychainEngine+Synchronize: passes messages of synchronization on to the module that understands
// them.
//   (1) The engine doesn't depend on that module, so a program can be built without it. In a
//       program that was built with it, `EngineOptions.synchronization` creates the object that
//       answers the messages.

package import KeychainCore

/// Answers the messages of synchronization for one keychain. Documentation/Synchronization.md,
/// "Messages".
package protocol SynchronizationAnswerer: Sendable {
    func answer(
        _ request: Synchronize, in engine: KeychainEngine
    ) throws(KeychainFailure) -> Synchronize.Answer
}

extension KeychainEngine {
    package func execute(
        _ request: Synchronize, as caller: AccessGroups
    ) throws(KeychainFailure) -> Synchronize.Answer {
        guard let synchronization else {
            throw KeychainFailure(
                .unimplemented,
                "This program was built without synchronization. Build it with the package trait "
                    + "Synchronization.")
        }
        return try synchronization.answer(request, in: self)
    }
}
