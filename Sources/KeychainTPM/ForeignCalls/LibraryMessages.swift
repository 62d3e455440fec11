// LibraryMessages: suppresses the messages that tpm2-tss writes to standard error.

import Glibc
import KeychainCrypto
import Synchronization

/// Whether `silenceLibrary()` set the variable TSS2_LOG.
private let isSilenced = Atomic<Bool>(false)

extension PlatformHardware {
    /// Stops tpm2-tss from writing to standard error, unless the variable TSS2_LOG is set. A
    /// failed request to the TPM still returns its error to the caller.
    ///
    /// A program calls this at its start, while it has only one thread.
    package static func silenceLibrary() {
        #if TPM
        // SAFETY: both strings are valid during the call, which copies them.
        guard !ProcessEnvironment.isSet(logVariable),
            unsafe setenv(logVariable, "all+NONE", 0) == 0
        else { return }
        isSilenced.store(true, ordering: .relaxed)
        #endif
    }

    /// The environment variables that `silenceLibrary()` set. Programs that this program starts
    /// should not inherit the variables.
    package static var ownVariables: [String] {
        isSilenced.load(ordering: .relaxed) ? [logVariable] : []
    }

    private static var logVariable: String { "TSS2_LOG" }
}
