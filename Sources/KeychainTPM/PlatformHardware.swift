// PlatformHardware: the chip of this machine, where there is one and the package was built for it.
//   (1) Which chip a process uses is decided by its variables and the devices of the machine.
//   (2) Nothing is loaded or asked before a key is made or used, so that a program that has a chip
//       starts as fast as one that has none.

package import KeychainCrypto

#if TPM
import FoundationEssentials
import Glibc
import KeychainCore
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
        hardware(for: .ofThisProcess)
        #else
        nil
        #endif
    }

    /// In words, for people: which chip there is, or why there is none. It asks the chip.
    package static var reason: String {
        #if TPM
        reason(for: .ofThisProcess)
        #else
        "This program was built without the package trait TPM, so it knows no hardware for keys."
        #endif
    }
}

#if TPM

extension PlatformHardware {
    /// One module for each way, so that a process has one connection and one lock for a chip.
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
            guard let module = hardware(for: choice) else { return "There is none." }
            if let failure = module.failure {
                return "The TPM at \(configuration) can't be used. \(failure.reason)"
            }
            return "\(module.name), at \(configuration)"
        case .none(let reason): return reason
        }
    }
}

// MARK: - Which chip

/// The chip to use, or why there is none.
enum HardwareChoice: Hashable {
    /// The way to a chip, as tpm2-tss writes it.
    case chip(String)
    case none(String)

    /// The kernel's device with a resource manager, which gives each process slots of its own.
    static let device = "/dev/tpmrm0"

    /// The ways to a chip that a variable may name. tpm2-tss would load any library that is
    /// named in place of these.
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
            if chosen == "none" { return .none("The variable \(variable) says so.") }
            guard let way = chosen.split(separator: ":").first, ways.contains(way) else {
                return .none(
                    "The variable \(variable) names no way to a TPM. It begins with one of "
                        + "\(ways.sorted().joined(separator: ", ")), such as "
                        + "`device:/dev/tpmrm0`, or is `none`.")
            }
            return .chip(chosen)
        }
        guard FileManager.default.fileExists(atPath: device) else {
            return .none("There is no TPM 2.0 at \(device).")
        }
        guard mayUse(device) else {
            return .none(
                "This user may not use the TPM at \(device). Its group is mostly `tss`: "
                    + "`sudo usermod -aG tss NAME` adds a user to it, from the next login on.")
        }
        return .chip("device:\(device)")
    }

    private static func mayUse(_ path: String) -> Bool {
        FileManager.default.isReadableFile(atPath: path)
            && FileManager.default.isWritableFile(atPath: path)
    }
}
#endif
