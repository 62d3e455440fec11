// StatusCommand: shows which keychain is used, why, and what protects it.

import ArgumentParser
import KeychainRuntime
import KeychainEngine
import KeychainCore
import KeychainTPM

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows which keychain is used, why, and what protects it.",
        discussion: "No item is opened, and the user is not prompted. Without a service, no "
            + "keychain is created.")

    @Flag(help: "Writes a JSON object.")
    var json = false

    func run() throws {
        let choice = try KeychainChoice.current()
        var fields: [ItemField]
        switch choice.mode {
        case .embedded:
            let location = try KeychainPlace.folder()
            fields = [
                field("keychain", "directory", location.directory),
                field("chosen by", "chosenBy", location.reason),
                mode("embedded", "the calling process opens it itself", choice),
            ]
        case .service(let socket):
            fields = [
                mode("service", "the service process has the keychain open", choice),
                field("socket", "socket", socket),
            ]
        }
        fields += entitlements(choice.mode)
        do {
            fields += try state(choice.mode)
        } catch {
            // The fields so far help to understand the failure.
            try show(fields + sealedFields(choice.mode))
            throw error
        }
        try show(fields)
    }

    private func mode(_ name: String, _ text: String, _ choice: KeychainChoice) -> ItemField {
        field("mode", "mode", name, "\(name): \(text); chosen by \(choice.reason)")
    }

    private func show(_ fields: [ItemField]) throws {
        if json { return try Output.print(JSON.object(fields.map { ($0.key, $0.json) }).text) }
        try Output.print(table(fields.filter(\.isShown).map { [$0.label + ":", $0.text] }))
    }

    private func state(_ mode: KeychainChoice.Mode) throws(KeychainFailure) -> [ItemField] {
        guard try KeychainPlace.holdsKeychain() else {
            return [
                flag("exists", "exists", false, "not yet: saving the first item creates it")
            ]
        }
        let keychain = try ProcessKeychain.administration()
        let status = try keychain.perform(ReadStatus())
        let passcode = passcode(status, hasPasscode: try keychain.perform(HasPasscode()))
        let enclave = flag(
            "secure enclave", "secureEnclave", try keychain.perform(HasSecureEnclave()),
            try hardware(keychain, mode))
        switch mode {
        case .embedded:
            return [flag("exists", "exists", true, "yes")]
                + fields(of: status, passcode, lock: "in each process separately") + [enclave]
        case .service:
            return [field("keychain", "directory", status.directory)]
                + fields(of: status, passcode, lock: "for every program") + [enclave]
                + StatisticsFields.of(try? keychain.perform(ReadStatistics()))
        }
    }

    /// The fields that explain a failure if the device key is sealed: the keychain can't be opened
    /// without the hardware.
    private func sealedFields(_ mode: KeychainChoice.Mode) -> [ItemField] {
        guard mode == .embedded, let directory = try? KeychainPlace.folder().directory,
            (try? KeychainEngine.deviceKeyProtection(in: directory)) == .hardware
        else { return [] }
        let word = PlatformHardware.current == nil ? "none" : "yes"
        return [
            deviceKey(directory + "/device.key", .hardware), sealed(.hardware),
            flag(
                "secure enclave", "secureEnclave", PlatformHardware.current != nil,
                "\(word). \(PlatformHardware.reason)"),
        ]
    }

    private func deviceKey(_ path: String, _ protection: DeviceKeyProtection) -> ItemField {
        let text =
            switch protection {
            case .file, .memory:
                "in the file \(path), readable only by this user. This protects against other "
                    + "users and against a copy of the database alone, but not against programs "
                    + "that can read this user's files"
            case .hardware:
                "in the file \(path), sealed: it opens only on this machine"
            }
        return field("device key", "deviceKey", path, text)
    }

    private func sealed(_ protection: DeviceKeyProtection) -> ItemField {
        flag(
            "sealed", "deviceKeySealed", protection == .hardware,
            protection == .hardware
                ? "yes: opening the keychain requires this machine's hardware" : "no")
    }

    private func hardware(
        _ keychain: KeychainHandler, _ mode: KeychainChoice.Mode
    ) throws(KeychainFailure) -> String {
        let word = try keychain.perform(HasSecureEnclave()) ? "yes" : "none"
        // Details of the service's hardware are known only to the service.
        return mode == .embedded ? "\(word). \(PlatformHardware.reason)" : word
    }

    private func entitlements(_ mode: KeychainChoice.Mode) -> [ItemField] {
        let source: (path: String?, text: String) =
            switch (mode, EmbeddedKeychain.entitlementsSource()) {
            case (.service, _): (nil, "those that the service grants to this program")
            case (.embedded, .variable(let path)):
                (path, "\(path), named by the variable \(EmbeddedKeychain.entitlementsVariable)")
            case (.embedded, .besideExecutable(let path)): (path, "\(path), next to the executable")
            case (.embedded, .none):
                (nil, "none, so the group is “\(EmbeddedKeychain.defaultGroup)”")
            }
        var fields = [
            ItemField(
                label: "entitlements", key: "entitlements", text: printable(source.text),
                json: .optional(source.path))
        ]
        do {
            let groups = try ProcessKeychain.entitlements().accessGroups.names
            fields.append(
                ItemField(
                    label: "groups", key: "groups",
                    text: groups.map(printable).joined(separator: ", "),
                    json: .array(groups.map { .string($0) })))
        } catch {
            fields.append(
                ItemField(
                    label: "groups", key: "groups", text: printable(error.reason), json: .null))
        }
        return fields
    }

    /// `status.hasPasscode` is also true if another way in protects the keychain.
    private func passcode(_ status: KeychainStatus, hasPasscode: Bool) -> ItemField {
        let text =
            switch (status.hasPasscode, hasPasscode) {
            case (true, true): "set: reading items requires it in addition to the device key"
            case (true, false):
                "none. Reading items requires a credential or a recovery code in addition to the "
                    + "device key"
            case (false, _):
                "none. Until one is set, the device key opens every item that isn't bound to a "
                    + "machine"
            }
        return flag("passcode", "passcode", hasPasscode, text)
    }

    private func fields(
        of status: KeychainStatus, _ passcode: ItemField, lock: String
    ) -> [ItemField] {
        [
            field("format version", "formatVersion", status.formatVersion),
            field("items", "items", Int(clamping: status.itemCount)),
            field(
                "set aside", "setAside", Int(clamping: status.setAsideCount),
                status.setAsideCount > 0
                    ? "\(status.setAsideCount); `keychainctl doctor` lists them" : nil),
            field("size", "byteCount", status.byteCount, "\(status.byteCount) bytes"),
            field("commits", "generation", Int(clamping: status.generation)),
        ] + verification(status.verification) + [
            deviceKey(status.deviceKeyPath, status.deviceKeyProtection),
            sealed(status.deviceKeyProtection),
            passcode, machine(status), staying(status),
            field(
                "lock state", "lockState", status.lockState.rawValue,
                status.lockState == .unlocked
                    ? "unlocked" : "\(status.lockState.rawValue), \(lock)"),
            flag(
                "memory locked", "memoryLocked", status.isMemoryLocked,
                status.isMemoryLocked
                    ? "yes, keys are not swapped out" : "no: raise the limit `ulimit -l`"),
        ]
    }

    private func verification(_ state: VerificationState) -> [ItemField] {
        [
            flag("verified", "verified", state.isVerified, VerificationText.text(of: state)),
            ItemField(
                label: "", key: "verifiedAt", text: "",
                json: .optional(state.moment.map(timestamp)), isShown: false),
        ]
    }

    private func machine(_ status: KeychainStatus) -> ItemField {
        let (word, text) =
            switch status.machine {
            case .notBound:
                (
                    "not-bound",
                    status.whyNotBindable.map { "not bound. \($0)" }
                        ?? "not bound. `keychainctl bind` binds the this-device-only items to this "
                        + "machine"
                )
            case .thisMachine: ("this-machine", "bound to this machine")
            case .otherMachine:
                (
                    "other-machine",
                    "bound to another machine, or the identity of this machine has changed. "
                        + "`keychainctl bind --recovery-code` binds the keychain to this machine"
                )
            case .unreachable:
                (
                    "unreachable",
                    "bound to a machine, but this machine has no identity or its TPM can't be used"
                )
            }
        return field("machine", "machine", word, text)
    }

    /// The number of *this device only* items, and what happens to them if the machine is lost.
    private func staying(_ status: KeychainStatus) -> ItemField {
        let count = Int(clamping: status.deviceItemCount)
        let text =
            switch (count, status.machine, status.hasRecoveryCode) {
            case (0, _, _): "0"
            case (_, .notBound, _):
                "\(count), not bound to this machine"
            case (_, .thisMachine, false):
                "\(count), which would be lost with this machine: create a recovery code with "
                    + "`keychainctl slot add recovery-code` to be able to move them"
            case (_, .thisMachine, true): "\(count), which can be moved with the recovery code"
            default: "\(count), which can't be read here"
            }
        return field("device items", "deviceItems", count, text)
    }

    private func field(
        _ label: String, _ key: String, _ value: String, _ text: String? = nil
    ) -> ItemField {
        ItemField(label: label, key: key, text: printable(text ?? value), json: .string(value))
    }

    private func field(
        _ label: String, _ key: String, _ value: Int, _ text: String? = nil
    ) -> ItemField {
        ItemField(label: label, key: key, text: text ?? String(value), json: .count(value))
    }

    private func flag(_ label: String, _ key: String, _ value: Bool, _ text: String) -> ItemField {
        ItemField(label: label, key: key, text: text, json: .bool(value))
    }
}
