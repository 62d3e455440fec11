// StatusCommand: which keychain is in use, why that one, and how it is protected.

import ArgumentParser
import KeychainClient
import KeychainEngine
import KeychainModel

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows which keychain is in use, why that one, and how it is protected.",
        discussion: "No item is opened, no passcode is asked for, and no keychain is made.")

    @Flag(help: "Writes a JSON object.")
    var json = false

    func run() throws {
        let location = try KeychainPlace.folder()
        var fields: [ItemField] = [
            field("keychain", "directory", location.directory),
            field("chosen by", "chosenBy", location.reason),
            field("mode", "mode", "embedded", "embedded: the calling process opens it itself"),
        ]
        fields += entitlements()
        do {
            fields += try self.fields(in: location.directory)
        } catch {
            // What is known already helps to understand the failure.
            try show(fields)
            throw error
        }
        try show(fields)
    }

    private func show(_ fields: [ItemField]) throws {
        if json { return try Output.print(JSON.object(fields.map { ($0.key, $0.json) }).text) }
        try Output.print(table(fields.map { [$0.label + ":", $0.text] }))
    }

    private func fields(in directory: String) throws(KeychainFailure) -> [ItemField] {
        guard try KeychainPlace.holdsKeychain(directory) else {
            return [
                flag("exists", "exists", false, "not yet: it is made when the first item is saved")
            ]
        }
        let engine = try EmbeddedKeychain.engine(in: directory)
        return [flag("exists", "exists", true, "yes")] + fields(of: try engine.status())
    }

    private func entitlements() -> [ItemField] {
        let source: (path: String?, text: String) =
            switch EmbeddedKeychain.entitlementsSource() {
            case .variable(let path):
                (path, "\(path), by the variable \(EmbeddedKeychain.entitlementsVariable)")
            case .besideExecutable(let path): (path, "\(path), beside the executable")
            case .none: (nil, "none, so the group is “\(EmbeddedKeychain.defaultGroup)”")
            }
        var fields = [
            ItemField(
                label: "entitlements", key: "entitlements", text: printable(source.text),
                json: .optional(source.path))
        ]
        do {
            let groups = try EmbeddedKeychain.entitlements().accessGroups.names
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

    private func fields(of status: KeychainStatus) -> [ItemField] {
        let deviceKey =
            "in the file \(status.deviceKeyPath), for this user only. It keeps copies of the "
            + "database alone and other users out, but nobody who can read this user's files"
        let passcode =
            status.hasPasscode
            ? "set: items need it beside the device key"
            : "none. One would protect items from whoever can read this user's files"
        return [
            field("format version", "formatVersion", status.formatVersion),
            field("items", "items", Int(clamping: status.itemCount)),
            field("set aside", "setAside", Int(clamping: status.setAsideCount)),
            field("size", "byteCount", status.byteCount, "\(status.byteCount) bytes"),
            field("commits", "generation", Int(clamping: status.generation)),
            field("device key", "deviceKey", status.deviceKeyPath, deviceKey),
            flag("passcode", "passcode", status.hasPasscode, passcode),
            field(
                "lock state", "lockState", status.lockState.rawValue,
                status.lockState == .unlocked
                    ? "unlocked" : "\(status.lockState.rawValue), in each process of its own"),
            flag(
                "memory locked", "memoryLocked", status.isMemoryLocked,
                status.isMemoryLocked
                    ? "yes, keys are never written to swap" : "no: raise the limit `ulimit -l`"),
        ]
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
