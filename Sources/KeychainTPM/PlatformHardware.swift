// PlatformHardware: the chip of this machine, where there is one and the package was built for it.
//   (1) Nothing is loaded or asked before a key is made or used, so that a program that has a chip
//       starts as fast as one that has none.

package import KeychainCrypto

#if TPM
import KeychainModel
import Synchronization
#endif

package enum PlatformHardware {
    /// Names the way to the chip, as tpm2-tss writes it: `device:/dev/tpmrm0`,
    /// `swtpm:path=/run/tpm/socket`. `none`: no chip.
    package static let variable = "KEYCHAIN_TPM"

    /// The chip that keys are kept in. nil: there is none that this process may use.
    ///
    /// It is the same object each time, for as long as the variable is the same. Whether the chip
    /// answers shows when it is used.
    package static var current: (any KeyHardware)? {
        #if TPM
        switch HardwareChoice.ofThisProcess {
        case .chip(let configuration):
            modules.withLock { modules in
                if let known = modules[configuration] { return known }
                let new = TrustedPlatformModule(configuration: configuration)
                modules[configuration] = new
                return new
            }
        case .none: nil
        }
        #else
        nil
        #endif
    }

    /// In words, for people: which chip there is, or why there is none. It asks the chip.
    package static var reason: String {
        #if TPM
        switch HardwareChoice.ofThisProcess {
        case .chip(let configuration):
            guard let hardware = current else { return "There is none." }
            if let failure = (hardware as? TrustedPlatformModule)?.failure {
                return "The chip at \(configuration) can't be used. \(failure.reason)"
            }
            return "\(hardware.name), at \(configuration)"
        case .none(let reason): return reason
        }
        #else
        return "This build knows no hardware: it was made without the package trait TPM."
        #endif
    }

    #if TPM
    private static let modules = Mutex<[String: TrustedPlatformModule]>([:])
    #endif
}
