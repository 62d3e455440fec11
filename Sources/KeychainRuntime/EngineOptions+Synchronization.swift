// EngineOptions+Synchronization: adds a `Synchronizer` to the options with which a keychain is
// opened. No other file in Sources does so. The service and the programs that open keychains
// themselves use this file.

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
