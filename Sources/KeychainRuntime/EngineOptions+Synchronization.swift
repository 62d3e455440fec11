// EngineOptions+Synchronization: the only place that adds a `Synchronizer` to the options with
// which a keychain is opened, in programs that open keychains themselves and in the service.

package import KeychainEngine

#if Synchronization
import KeychainSynchronizer
#endif

extension EngineOptions {
    /// The same options for a keychain that can be in a circle. They are unchanged if this program
    /// was built without the package trait `Synchronization`.
    package var withSynchronization: EngineOptions {
        #if Synchronization
        var options = self
        options.synchronization = { Synchronizer() }
        return options
        #else
        return self
        #endif
    }
}
