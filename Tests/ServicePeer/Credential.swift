// Requests a unit's credential as systemd does.

import Glibc
import KeychainCrypto

struct CredentialAsking {
    let socket: String
    let unit: String
    let name: String

    /// Prints the credential, “refused” for an empty answer, or “too large” above 1 MiB.
    func run() throws {
        guard let descriptor = UnixSockets.make() else { exit(1) }
        let address = "\0a1/unit/\(unit)/\(name)"
        let size = socklen_t(MemoryLayout<sa_family_t>.size + address.utf8.count)
        // SAFETY: the address lives for the call.
        let code = unsafe UnixSockets.withAddress(address) { pointer, _ in
            unsafe bind(descriptor.number, pointer, size)
        }
        guard code == 0, UnixSockets.connect(descriptor, to: socket) else { exit(1) }
        var all: [UInt8] = []
        while true {
            let part = try [UInt8](readingFrom: descriptor.number, atMost: 1 << 16)
            if part.isEmpty { break }
            all += part
        }
        switch all.count {
        case 0: acknowledge("refused")
        case (1 << 20 + 1)...: acknowledge("too large")
        default: acknowledge(String(decoding: all, as: UTF8.self))
        }
    }
}
