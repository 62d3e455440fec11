// FilePresence: whether there is a file, without a way to mistake one that can't be seen.

import Glibc

enum FilePresence {
    /// Whether there is anything at a path, also what this process may not look at.
    static func isThere(_ path: String) -> Bool {
        // SAFETY: the text is valid for the call.
        if unsafe access(path, F_OK) == 0 { return true }
        return errno != ENOENT && errno != ENOTDIR
    }
}
