// RandomBytes: fresh bytes in ordinary memory. The keychain's own keys come from SecretBytes.

import KeychainCore

extension [UInt8] {
    /// Fresh bytes of the system's generator.
    package static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
    }
}
