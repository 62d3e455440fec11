// Processes: information about other processes, and settings of this one.

import FoundationEssentials
import Glibc
import KeychainCrypto

enum Processes {
    /// The type of `syscall` without variable arguments, since Swift can't import variadic
    /// functions.
    private typealias SystemCall = @convention(c) (CLong, CLong, CLong) -> CLong

    /// SYS_pidfd_open, the same on x86-64 and AArch64.
    private static let openCall: CLong = 434

    /// A process file descriptor (pidfd). It refers to the process that has the id now, never to a
    /// later one with the same id. `nil` with `errno` set if it can't be created: `ESRCH` if there
    /// is no such process, another code if no descriptors are left or the kernel is older than 5.3.
    static func pin(_ pid: pid_t) -> OwnedDescriptor? {
        // SAFETY: the symbol is glibc's `long syscall(long, ...)`. On Linux's x86-64 and AArch64
        // its variable integer arguments are passed in the same registers as fixed ones, and
        // pidfd_open has two.
        guard let symbol = unsafe dlsym(nil, "syscall") else {
            errno = ENOSYS
            return nil
        }
        let call = unsafe unsafeBitCast(symbol, to: SystemCall.self)
        let descriptor = Int32(truncatingIfNeeded: call(openCall, CLong(pid), 0))
        return descriptor >= 0 ? OwnedDescriptor(descriptor) : nil
    }

    /// Whether the process of a process file descriptor is still running.
    static func isRunning(_ pin: OwnedDescriptor) -> Bool {
        Descriptor.ready(among: [pin.number], milliseconds: 0) == [false]
    }

    /// All visible processes that have a cgroup in the version 2 hierarchy: the user ids of each,
    /// and its cgroup. `nil` if they can't all be examined.
    static func all() -> [(users: Set<uid_t>, cgroup: String)]? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else {
            return nil
        }
        var found: [(users: Set<uid_t>, cgroup: String)] = []
        do throws(ProcessFiles.Unreadable) {
            for pid in names.compactMap({ pid_t($0) }) {
                guard let cgroup = try ProcessFiles.cgroup(of: pid) else { continue }
                found.append((try ProcessFiles.users(of: pid), cgroup))
            }
        } catch {
            return nil
        }
        return found
    }

    /// Raises the limit of file descriptors to the maximum that the system allows this process.
    /// - Returns: The limit from now on. This is the earlier limit if it can't be raised, and 0 if
    ///   the limit can't be read.
    @discardableResult
    static func raiseDescriptorLimit() -> Int {
        var limit = rlimit()
        // SAFETY: the structure is filled, or read, within the call.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 0
        }
        let earlier = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        // SAFETY: as above.
        let isRaised = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        return Int(clamping: isRaised ? limit.rlim_max : earlier)
    }

    /// Gives the calling thread the lowest priority for processor and disk.
    static func lowerThreadPriority() {
        // 0: on Linux, the calling thread.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
    }

    /// Whether this process ignores SIGHUP.
    static var ignoresHangup: Bool {
        var action = sigaction()
        // SAFETY: nothing is set; the structure is filled within the call.
        guard unsafe sigaction(SIGHUP, nil, &action) == 0 else { return false }
        // `SIG_IGN` is the address 1.
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Ignores SIGPIPE. Writing to a closed connection then fails with an error and doesn't end the
    /// process.
    static func ignoreBrokenConnections() {
        _ = signal(SIGPIPE, SIG_IGN)
    }
}
