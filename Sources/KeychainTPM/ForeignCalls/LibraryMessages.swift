// LibraryMessages: what tpm2-tss writes to standard error by itself.

import Glibc
import KeychainCrypto
import Synchronization

/// Whether the variable is this program's own.
private let isSilenced = Atomic<Bool>(false)

extension PlatformHardware {
    /// Has tpm2-tss say nothing on standard error, unless its variable TSS2_LOG is set: what went
    /// wrong is told by the failure of the request.
    ///
    /// A program calls this first of all, while it has no other threads.
    package static func silenceLibrary() {
        #if TPM
        // SAFETY: both texts live for the call, which copies them.
        guard !ProcessEnvironment.isSet(logVariable),
            unsafe setenv(logVariable, "all+NONE", 0) == 0
        else { return }
        isSilenced.store(true, ordering: .relaxed)
        #endif
    }

    /// The variables that the caller doesn't have, for programs that are started with the caller's.
    package static var ownVariables: [String] {
        isSilenced.load(ordering: .relaxed) ? [logVariable] : []
    }

    private static var logVariable: String { "TSS2_LOG" }
}
