// LibraryMessages: what tpm2-tss writes to standard error by itself.

import Glibc

extension PlatformHardware {
    /// Has tpm2-tss say nothing on standard error, unless its variable TSS2_LOG is set: what went
    /// wrong is told by the failure of the request.
    ///
    /// A program calls this first of all, while it has no other threads.
    package static func silenceLibrary() {
        #if TPM
        // SAFETY: both texts live for the call, which copies them.
        _ = unsafe setenv("TSS2_LOG", "all+NONE", 0)
        #endif
    }
}
