// MachineIdentityTests: the identity of a machine, and environments without one.

import FoundationEssentials
import KeychainCrypto
import Testing

/// A folder with files that identify a machine.
private final class System {
    let folder = FileManager.default.temporaryDirectory.path() + "machine-\(UUID())"
    let sources: MachineIdentity.Sources

    init(machineID: String?, marks: [String] = [], environment: String? = nil) throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        var sources = MachineIdentity.Sources()
        sources.machineID = folder + "/machine-id"
        sources.containerMarks = [folder + "/mark"]
        sources.firstEnvironment = folder + "/environ"
        self.sources = sources
        for (name, text) in [("machine-id", machineID), ("environ", environment)] {
            if let text { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
        }
        for mark in marks { try Data().write(to: URL(filePath: "\(folder)/\(mark)")) }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
}

private let id = "0123456789abcdef0123456789abcdef"

@Suite struct `The identity of a machine` {
    /// The expected identity was computed with Python's hmac as
    /// sd_id128_get_machine_app_specific(3) describes. For another machine id, the result of the
    /// same computation was compared with that of `systemd-id128`.
    @Test func `the identity is derived from the machine id as systemd derives it`() throws {
        for text in [id, id + "\n"] {
            let system = try System(machineID: text, environment: "PATH=/bin\0TERM=\0")
            let identity = MachineIdentity.current(system.sources)
            #expect(identity.absence == nil)
            let digits = try #require(identity.secret).plainBytes.map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            #expect(digits.joined() == "7a27d3ef6c5449eab63478af5bba7dbd")
        }
    }

    @Test(arguments: [
        nil, "", "uninitialized\n", String(repeating: "0", count: 32), id + "0", id + "\n\n",
        String(id.dropLast()), id.uppercased(), "01234567-89ab-cdef-0123-456789abcdef",
    ])
    func `a missing or invalid machine id gives no identity`(text: String?) throws {
        let system = try System(machineID: text)
        let identity = MachineIdentity.current(system.sources)
        #expect(identity.secret == nil)
        #expect(identity.absence?.contains("machine-id") == true)
    }

    @Test func `a container has no machine identity`() throws {
        for (marks, environment) in [
            (["mark"], nil), ([], "container=podman\0"), ([], "A=b\0container=lxc\0"),
        ] as [([String], String?)] {
            let system = try System(machineID: id, marks: marks, environment: environment)
            let identity = MachineIdentity.current(system.sources)
            #expect(identity.secret == nil)
            #expect(identity.absence?.contains("container") == true)
        }
    }

    @Test func `a machine id stored in memory gives no identity, since it changes at a reboot`()
        throws
    {
        let path = "/dev/shm/machine-\(UUID())"
        try Data(id.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        var sources = MachineIdentity.Sources()
        sources.containerMarks = []
        sources.firstEnvironment = "/nowhere"
        sources.machineID = path
        sources.memory = "/dev/shm"
        #expect(MachineIdentity.current(sources).absence?.contains("in memory") == true)
    }
}
