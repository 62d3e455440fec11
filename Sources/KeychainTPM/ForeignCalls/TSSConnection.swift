// TSSConnection: a connection to a chip, with the library's context for it.
//   (1) Only one thread at a time uses a connection, under the lock of the `ChipAccess` that
//       created it.
//   (2) Between two operations, a connection holds neither keys nor sessions, unless flushing one
//       failed.
//   (3) After a fork, the child leaves the connection to its parent.

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

    /// Opens a connection. With most TCTIs, this sends nothing to the chip.
    init(_ library: TSSLibrary, configuration: String) throws(ResponseFailure) {
        self.library = library
        var way: OpaquePointer?
        // SAFETY: `openWay` and `initialize` set the pointer that they are given, or fail. The
        // third argument of `initialize` may be `nil`: the ABI version isn't checked then.
        // The library opens a device or a socket, and keeps it open. The file descriptor must not
        // get the number of a standard stream that is closed.
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
        // SAFETY: no other code has the two pointers. Each function frees the one that it is given.
        var context: OpaquePointer? = unsafe context
        unsafe library.finalize(&context)
        var way: OpaquePointer? = unsafe way
        unsafe library.closeWay(&way)
    }

    /// `false` in a child process that was forked after this connection was created.
    var isOfThisProcess: Bool { process == getpid() }

    func check(
        _ code: UInt32, _ command: ResponseFailure.Command
    ) throws(ResponseFailure) {
        guard code == 0 else { throw ResponseFailure(code: code, command: command) }
    }
}

#endif
