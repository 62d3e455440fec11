// How a process finds the TPM of its machine, and how the process describes that TPM.

import Testing

#if TPM

import KeychainCore
@testable import KeychainTPM

@Suite struct `Platform hardware` {
    struct Row: Sendable, CustomStringConvertible {
        let value: String?
        let device: String
        let choice: String?
        let words: String

        var description: String { "\(value ?? "no variable"), \(device)" }
    }

    static let absent = "/nonexistent/tpmrm0"

    static let rows = [
        Row(value: nil, device: absent, choice: nil, words: "no TPM 2.0 at /nonexistent"),
        Row(value: "", device: absent, choice: nil, words: "no TPM 2.0 at"),
        Row(value: "none", device: "/dev/null", choice: nil, words: "disables the TPM"),
        Row(value: nil, device: "/dev/null", choice: "device:/dev/null", words: ""),
        Row(
            value: "swtpm:path=/run/x", device: absent, choice: "swtpm:path=/run/x", words: ""),
        Row(value: "swtpm", device: absent, choice: "swtpm", words: ""),
        Row(
            value: "device:/dev/tpm0", device: "/dev/null", choice: "device:/dev/tpm0",
            words: ""),
        Row(
            value: "tabrmd:bus_type=session", device: absent, choice: "tabrmd:bus_type=session",
            words: ""),
        // tpm2-tss would load any library that the variable names.
        Row(value: "/tmp/evil.so", device: "/dev/null", choice: nil, words: "is not a valid TCTI"),
        Row(
            value: "libevil.so.0:x", device: "/dev/null", choice: nil,
            words: "is not a valid TCTI"),
        Row(value: ":", device: "/dev/null", choice: nil, words: "is not a valid TCTI"),
        Row(
            value: "Device:/dev/tpm0", device: "/dev/null", choice: nil,
            words: "is not a valid TCTI"),
    ]

    @Test(arguments: rows)
    func `the environment variable and the device file determine which chip is used`(_ row: Row) {
        let environment = row.value.map { [PlatformHardware.variable: $0] } ?? [:]
        let choice = HardwareChoice.of(
            environment, device: row.device)
        switch choice {
        case .chip(let configuration): #expect(configuration == row.choice)
        case .none(let reason):
            #expect(row.choice == nil)
            #expect(reason.contains(row.words) && !row.words.isEmpty)
        }
    }

    @Test func `a device that the process may not access is reported with the group to join`() {
        let choice = HardwareChoice.of([:], device: "/dev/null") { _ in
            false
        }
        guard case .none(let reason) = choice else {
            Issue.record("A device without access was chosen.")
            return
        }
        #expect(reason.contains("/dev/null"))
        #expect(reason.contains("usermod -aG tss"))
    }

    @Test(
        arguments: [
            ([0x4942_4D00], "IBM"), ([0x5354_4D20], "STM"),
            ([0x5357_2020, 0x2054_504D], "SW   TPM"),
            ([], ""), ([0, 0], ""), ([0x1B5B_324A], "[2J"), ([0xFFFF_FFFF], ""),
        ] as [([UInt32], String)])
    func `a chip's description of itself is reduced to printable characters`(
        _ words: [UInt32], _ text: String
    ) {
        #expect(ChipMaker.text(words) == text)
    }

    @Test(arguments: [
        ("IFX", "SLB9670", false, "TPM 2.0 (maker: Infineon)"),
        ("XYZ", "", false, "TPM 2.0 (maker: XYZ)"),
        ("", "", false, "TPM 2.0"),
        ("IBM", "SW   TPM", false, "simulated by software"),
        ("IBM", "chip", false, "TPM 2.0 (maker: IBM)"),
        ("IFX", "", true, "simulated by software"),
    ])
    func `only a simulator is reported as a simulator`(
        _ letters: String, _ model: String, _ isNamed: Bool, _ words: String
    ) {
        let name = ChipMaker(letters: letters, model: model).name(isSimulatorNamed: isNamed)
        #expect(name.contains(words))
        #expect(name.contains("simulated") == words.contains("simulated"))
    }

    @Test func `a configuration has one module, whose description follows the chip's state`() throws
    {
        let chip = try SimulatedChip()
        let choice = HardwareChoice.chip(chip.configuration)
        let module = try #require(PlatformHardware.hardware(for: choice))
        #expect(PlatformHardware.hardware(for: choice) === module)
        #expect(PlatformHardware.hardware(for: .chip("swtpm:path=/nonexistent")) !== module)
        #expect(PlatformHardware.reason(for: choice).contains("simulated"))
        #expect(PlatformHardware.reason(for: choice).contains(chip.configuration))
        chip.kill()
        #expect(PlatformHardware.reason(for: choice).contains("can't be used"))
        try chip.start()
        #expect(PlatformHardware.reason(for: choice).contains("simulated"))
    }

    @Test func `the reason is reported if there is no chip`() {
        #expect(PlatformHardware.hardware(for: .none("Because.")) == nil)
        #expect(PlatformHardware.reason(for: .none("Because.")) == "Because.")
    }

    /// No chip listens at the path of the configuration.
    @Test func `a module can be created without access to its chip`() {
        let module = TrustedPlatformModule(configuration: "swtpm:path=/nonexistent/tpm")
        #expect(module.name == "TPM 2.0")
        #expect(module.failure?.status == .notAvailable)
    }

    @Test func `a missing library is reported with the package to install`() {
        do {
            _ = try OpenLibrary("libtss2-absent.so.0")
            Issue.record("The missing library was loaded.")
        } catch {
            #expect(error.status == .unimplemented)
            #expect(error.reason.contains("libtss2-absent.so.0"))
            #expect(error.reason.contains("libtss2-esys"))
        }
    }
}

#endif
