// PlatformHardware: the chip of this machine, where there is one and the package was built for it.

package import KeychainCrypto

package enum PlatformHardware {
    /// The chip that keys are kept in. nil: there is none that this process may use.
    package static var current: (any KeyHardware)? { nil }
}
