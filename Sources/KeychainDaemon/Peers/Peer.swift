// Peer: the process at the other end of a connection, as the service found it to be.

import Glibc

struct Peer: Sendable {
    let pid: pid_t
    let uid: uid_t
    let executable: Executable
}
