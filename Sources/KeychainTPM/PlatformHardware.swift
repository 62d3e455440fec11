// PlatformHardware: the chip of this machine, if there is one and the package was built with
// support for it.
//   (1) An environment variable of a process and the device of the machine decide which chip the
//       process uses.
//   (2) No library is loaded, and the chip is not accessed, before the chip is first used or
//       `reason` is read. A program therefore starts as fast on a machine with a chip as on one
//       without.

package import KeychainCrypto

#if TPM
import FoundationEssentials
import Glibc
import KeychainCore
import Synchronization
#endif

package enum PlatformHardware {
    /// The variable that selects the chip with a TCTI configuration in the syntax of tpm2-tss, such
    /// as `device:/dev/tpmrm0` or `swtpm:path=/run/tpm/socket`. `none` disables the chip.
    package static let variable = "KEYCHAIN_TPM"

    /// The chip for hardware keys; `nil` if there is none that this process can use.
    ///
    /// While the variable stays the same and the device stays usable, this returns the same object.
    /// Whether the chip responds is only known when it is used.
    package static var current: (any KeyHardware)? {
        #if TPM
        hardware(for: .ofThisProcess)
        #else
        nil
        #endif
    }

    /// A text for the user: describes the chip, or says why there is none or why it can't be used.
    /// Reading this property accesses the chip.
    package static var reason: String {
        #if TPM
        reason(for: .ofThisProcess)
        #else
        "This program was built without the package trait TPM, so it doesn't support hardware keys."
        #endif
    }
}

#if TPM

extension PlatformHardware {
    /// One module per TCTI configuration, so that a process has one connection and one lock for
    /// each chip.
    private static let modules = Mutex<[String: TrustedPlatformModule]>([:])

    static func hardware(for choice: HardwareChoice) -> TrustedPlatformModule? {
        guard case .chip(let configuration) = choice else { return nil }
        return modules.withLock { modules in
            if let known = modules[configuration] { return known }
            let new = TrustedPlatformModule(configuration: configuration)
            modules[configuration] = new
            return new
        }
    }

    static func reason(for choice: HardwareChoice) -> String {
        switch choice {
        case .chip(let configuration):
            guard let module = hardware(for: choice) else { return "There is no TPM." }
            if let failure = module.failure {
                return "The TPM at \(configuration) can't be used. \(failure.reason)"
            }
            return "\(module.name), at \(configuration)"
        case .none(let reason): return reason
        }
    }
}

// MARK: - Choice of the chip

/// The chip to use, or the reason why there is none.
enum HardwareChoice: Hashable {
    /// The TCTI configuration, in the syntax of tpm2-tss.
    case chip(String)
    case none(String)

    /// The kernel's device with a resource manager, which gives each process its own slots.
    static let device = "/dev/tpmrm0"

    /// The TCTIs that the variable can name. Given any other name, tpm2-tss would load a library of
    /// that name.
    private static let ways: Set<Substring> = ["device", "swtpm", "mssim", "tabrmd"]

    static var ofThisProcess: HardwareChoice {
        of(ProcessEnvironment.variables)
    }

    static func of(
        _ environment: [String: String], device: String = device,
        mayUse: (String) -> Bool = Self.mayUse
    ) -> HardwareChoice {
        let variable = PlatformHardware.variable
        if let chosen = environment[variable], !chosen.isEmpty {
            if chosen == "none" { return .none("The variable \(variable) disables the TPM.") }
            guard let way = chosen.split(separator: ":").first, ways.contains(way) else {
                return .none(
                    "The variable \(variable) is not a valid TCTI configuration. It must start "
                        + "with one of \(ways.sorted().joined(separator: ", ")), such as "
                        + "`device:/dev/tpmrm0`, or be `none`.")
            }
            return .chip(chosen)
        }
        guard FileManager.default.fileExists(atPath: device) else {
            return .none("There is no TPM 2.0 at \(device).")
        }
        guard mayUse(device) else {
            return .none(
                "This user has no permission to use the TPM at \(device). The group of the device "
                    + "is usually `tss`: `sudo usermod -aG tss NAME` adds a user to it, with "
                    + "effect from the next login.")
        }
        return .chip("device:\(device)")
    }

    private static func mayUse(_ path: String) -> Bool {
        FileManager.default.isReadableFile(atPath: path)
            && FileManager.default.isWritableFile(atPath: path)
    }
}
#endif
