// HardwareChoice: which chip a process uses, by its variables and the devices of the machine.

#if TPM

import FoundationEssentials
import Glibc
import KeychainCrypto

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
