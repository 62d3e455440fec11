// Machine: what tells this machine from others, where something does.

package import KeychainCore

package struct Machine: Sendable {
    /// What stands for the machine, from its identity; nil where it has none that lasts.
    package var identity: SecretBytes?
    /// The chip that binds in place of the identity.
    package var chip: (any KeyHardware)?
    /// For people: why it has no identity.
    package var absence: String?

    package init(
        identity: SecretBytes? = nil, chip: (any KeyHardware)? = nil, absence: String? = nil
    ) {
        self.identity = identity
        self.chip = chip
        self.absence = absence
    }

    /// `none`: this process takes the machine for one without an identity.
    package static let variable = "KEYCHAIN_MACHINE"

    /// The one that this process runs on.
    package static func current(chip: (any KeyHardware)?) -> Machine {
        guard ProcessEnvironment.variables[variable] != "none" else {
            return Machine(absence: "The variable \(variable) says so.")
        }
        let identity = MachineIdentity.current()
        return Machine(identity: identity.secret, chip: chip, absence: identity.absence)
    }

    /// One that nothing can be bound to.
    package static let unidentified = Machine()

    /// Why nothing can be bound to it; nil: it can.
    package var whyNotBindable: String? {
        guard identity == nil, chip?.isPresent != true else { return nil }
        return absence ?? "This machine has no identity that lasts."
    }
}

extension KeychainFailure {
    /// Something that stays on its device is asked for on another one.
    package static func boundElsewhere(
        _ state: MachineState, itemCount: UInt64? = nil
    ) -> KeychainFailure {
        let what =
            state == .unreachable
            ? "This machine has no identity that lasts, or the chip that the keychain is bound to "
                + "can't be used now."
            : "The keychain was bound to another machine, or the identity of this one changed."
        let counted =
            switch itemCount {
            case nil: "Items that stay on their device"
            case 1: "1 item that stays on its device"
            case .some(let count): "\(count) items that stay on their device"
            }
        return KeychainFailure(
            .notAvailable,
            "\(what) \(counted) can't be read here; all others can. Nothing "
                + "was deleted. Use the machine that the keychain comes from, or its recovery code: "
                + "`keychainctl bind --recovery-code`.",
            cause: .otherMachine)
    }
}
