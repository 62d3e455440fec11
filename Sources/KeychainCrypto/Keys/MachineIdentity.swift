// MachineIdentity: 16 bytes that identify this machine if it has no chip.
//   (1) The machine's id, /etc/machine-id, should not appear in the files of other programs. The
//       identity is therefore derived from it and from an application id, as
//       sd_id128_get_machine_app_specific(3) does. The machine's id can't be computed from the
//       identity.
//   (2) In a container, the id belongs to an image or is generated at each start. Containers
//       therefore have no identity.
//   (3) An id that changes at a restart is not an identity. If /etc can't be written, systemd
//       provides such an id in memory.

import FoundationEssentials
import Glibc
package import KeychainCore

package struct MachineIdentity: Sendable {
    /// 16 bytes; `nil` if the machine has no permanent identity.
    package let secret: SecretBytes?
    /// The reason why there is no identity, to show to a user.
    package let absence: String?

    /// The files from which the identity is read. Tests use other files.
    package struct Sources: Sendable {
        package var machineID = "/etc/machine-id"
        /// Files that exist only in containers: of systemd, Docker and Podman.
        package var containerMarks = [
            "/run/systemd/container", "/.dockerenv", "/run/.containerenv",
        ]
        /// The environment of the first process. Not every user can read it.
        package var firstEnvironment = "/proc/1/environ"
        /// A folder in memory, from which systemd mounts an id over /etc/machine-id.
        package var memory = "/run"

        package init() {}
    }

    /// Returns the identity of the machine that this process runs on.
    package static func current(_ sources: Sources = Sources()) -> MachineIdentity {
        if sources.containerMarks.contains(where: Files.isThere)
            || isContainer(sources.firstEnvironment)
        {
            return MachineIdentity(absence: "This is a container, which has no permanent identity.")
        }
        guard let file = Files.open(sources.machineID, O_RDONLY | O_NONBLOCK),
            let status = Files.status(of: file), status.isPlainFile,
            let content = Files.content(of: file, atMost: 33)
        else { return MachineIdentity(absence: "\(sources.machineID) can't be read.") }
        let device = status.identity.device
        guard
            device != Files.status(of: sources.memory)?.identity.device
                || device == Files.status(of: "/")?.identity.device
        else {
            return MachineIdentity(
                absence: "\(sources.machineID) is in memory and changes at the next start.")
        }
        guard let id = bytes(of: content) else {
            return MachineIdentity(absence: "\(sources.machineID) contains no machine id.")
        }
        return MachineIdentity(secret: applicationSpecific(id), absence: nil)
    }

    private init(secret: SecretBytes? = nil, absence: String?) {
        self.secret = secret
        self.absence = absence
    }

    private static func isContainer(_ environment: String) -> Bool {
        guard let file = Files.open(environment, O_RDONLY | O_NONBLOCK),
            let content = Files.content(of: file, atMost: 1 << 20)
        else { return false }
        return content.split(separator: 0).contains {
            $0.starts(with: "container=".utf8) && $0.count > 10
        }
    }

    /// Parses 32 lowercase hexadecimal digits and an optional newline, as specified in
    /// machine-id(5). All zeros are not an id.
    private static func bytes(of content: Data) -> SecretBytes? {
        let digits = content.last == 0x0A ? content.dropLast() : content[...]
        guard digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            bytes.append(value)
        }
        let pairs = stride(from: 0, to: 32, by: 2).map { bytes[$0] << 4 | bytes[$0 + 1] }
        return pairs.contains { $0 != 0 } ? SecretBytes(copying: pairs) : nil
    }

    /// The id of this application. It is random and never changes.
    private static let application: [UInt8] = [
        0x40, 0xD0, 0x1F, 0x1C, 0x47, 0x15, 0x4A, 0x79, 0xA6, 0x81, 0x48, 0x1E, 0x88, 0xA9, 0x30,
        0x38,
    ]

    /// Computes what `systemd-id128 machine-id --app-specific=40d01f1c47154a79a681481e88a93038`
    /// prints: the first bytes of HMAC-SHA-256 of the application's id under the machine's id, as a
    /// UUID of version 4.
    private static func applicationSpecific(_ id: SecretBytes) -> SecretBytes {
        var bytes = Array(KeyedHash(key: id).code(of: application).bytes.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return SecretBytes(copying: bytes)
    }
}
