// ProcessEnvironment: the variables of this process, as far as they are to be believed.
//   (1) No other code of this package reads a variable.
//   (2) A program with more rights than its caller (set-user-ID, set-group-ID, file capabilities)
//       believes none: they would have it open another's keychain, or ask another service, with
//       rights that its caller doesn't have.
//   (3) A value that is not UTF-8 stands for no path: Swift would make one of two different ones.

import FoundationEssentials
import Glibc

package enum ProcessEnvironment {
    /// The variables; none where they are not to be believed.
    package static var variables: [String: String] {
        hasRightsOfOthers ? [:] : believed(ProcessInfo.processInfo.environment)
    }

    /// Reads and forgets a variable, so that no child takes it for its own. The caller has no other
    /// thread yet.
    package static func take(_ name: String) -> String? {
        let value = variables[name]
        // SAFETY: the name is a terminated copy for the call; no other code reads variables
        // meanwhile.
        _ = unsafe unsetenv(name)
        return value
    }

    static func believed(_ variables: [String: String]) -> [String: String] {
        // What Swift puts in place of bytes that are no text.
        let mark: Unicode.Scalar = "\u{FFFD}"
        return variables.mapValues { $0.unicodeScalars.contains(mark) ? String(mark) : $0 }
    }

    // MARK: Rights

    /// Whether this program has rights that its caller doesn't have.
    package static var hasRightsOfOthers: Bool {
        isSecureExecution || getuid() != geteuid() || getgid() != getegid()
    }

    /// What the kernel said of the program when it was started, AT_SECURE of linux/auxvec.h. It
    /// stays when the program gives its rights back.
    private static let isSecureExecution = auxiliaryValue(23) != 0

    private typealias Getauxval = @convention(c) (CUnsignedLong) -> CUnsignedLong

    /// The corresponding C function is `getauxval`, which Swift's module of glibc lacks.
    private static func auxiliaryValue(_ type: CUnsignedLong) -> CUnsignedLong {
        // SAFETY: the symbol is glibc's `unsigned long getauxval(unsigned long)`.
        guard let symbol = unsafe dlsym(nil, "getauxval") else { return 0 }
        return unsafe unsafeBitCast(symbol, to: Getauxval.self)(type)
    }

    // MARK: The user

    /// The home folder: `HOME`, or what the user database says. nil: neither names one.
    package static func home(_ variables: [String: String]) -> String? {
        if let home = variables["HOME"], home.hasPrefix("/") { return home }
        return homeInUserDatabase
    }

    private static var homeInUserDatabase: String? {
        // SAFETY: the entry's texts lie in the array, whose size is given; they are copied before
        // it goes.
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var texts = [CChar](repeating: 0, count: 1 << 14)
        return unsafe texts.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress,
                unsafe getpwuid_r(geteuid(), &entry, base, buffer.count, &found) == 0,
                unsafe found != nil, let home = unsafe entry.pw_dir
            else { return nil }
            let text = unsafe String(cString: home)
            return text.hasPrefix("/") ? text : nil
        }
    }
}
