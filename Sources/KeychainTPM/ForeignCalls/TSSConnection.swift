// TSSConnection: a way to a chip, and the library's context for it.
//   (1) Used by one thread at a time, under the lock of the TrustedPlatformModule that made it.
//   (2) It holds nothing between two operations but the way: neither keys nor sessions.
//   (3) A forked child leaves the way to its parent.

#if TPM

import CKeychainTSS2
import Glibc
import KeychainCrypto

/// `@unchecked Sendable`: see (1) for the lock.
@safe
final class TSSConnection: @unchecked Sendable {
    let library: TSSLibrary
    let context: OpaquePointer
    private let way: OpaquePointer
    private let process = getpid()

    /// Opens a way. With most ways nothing is sent yet.
    init(_ library: TSSLibrary, configuration: String) throws(ResponseFailure) {
        self.library = library
        var way: OpaquePointer?
        // SAFETY: both calls fill the pointer they are given, or fail; the version is asked for
        // only where it isn't nil.
        // The library opens the device or a socket, and keeps it.
        let opened = StandardStreams.withoutFreeNumbers {
            unsafe library.openWay(configuration, &way)
        }
        guard opened == 0, let found = unsafe way else {
            throw ResponseFailure(code: opened, command: .connect)
        }
        var context: OpaquePointer?
        let initialized = unsafe library.initialize(&context, found, nil)
        guard initialized == 0, let ready = unsafe context else {
            unsafe library.closeWay(&way)
            throw ResponseFailure(code: initialized, command: .connect)
        }
        unsafe self.way = found
        unsafe self.context = ready
    }

    deinit {
        guard isOfThisProcess else { return }
        // SAFETY: no other code has the two pointers; each function takes its own back.
        var context: OpaquePointer? = unsafe context
        unsafe library.finalize(&context)
        var way: OpaquePointer? = unsafe way
        unsafe library.closeWay(&way)
    }

    /// false in a child that was forked after this was made.
    var isOfThisProcess: Bool { process == getpid() }

    func check(
        _ code: UInt32, _ command: ResponseFailure.Command
    ) throws(ResponseFailure) {
        guard code == 0 else { throw ResponseFailure(code: code, command: command) }
    }
}

#endif
