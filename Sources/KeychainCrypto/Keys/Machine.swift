// Machine: the identity and chip that distinguish this machine from others, if there are any.

package import KeychainCore

package struct Machine: Sendable {
    /// The machine's identity, see ``MachineIdentity``; `nil` if the machine has none.
    package var identity: SecretBytes?
    /// A chip, which is used instead of the identity if it is present.
    package var chip: (any KeyHardware)?
    /// The reason why the machine has no identity, to show to a user.
    package var absence: String?

    package init(
        identity: SecretBytes? = nil, chip: (any KeyHardware)? = nil, absence: String? = nil
    ) {
        self.identity = identity
        self.chip = chip
        self.absence = absence
    }

    /// An environment variable. If its value is `none`, this process treats the machine as one
    /// without identity and chip: it can neither bind a keychain to the machine nor open items that
    /// are bound to the machine.
    package static let variable = "KEYCHAIN_MACHINE"

    /// Returns the machine that this process runs on.
    package static func current(chip: (any KeyHardware)?) -> Machine {
        guard ProcessEnvironment.variables[variable] != "none" else {
            return Machine(absence: "The variable \(variable) disables the machine's identity.")
        }
        let identity = MachineIdentity.current()
        return Machine(identity: identity.secret, chip: chip, absence: identity.absence)
    }

    /// A machine to which nothing can be bound.
    package static let unidentified = Machine()

    /// The reason why nothing can be bound to the machine; `nil` if binding is possible.
    package var whyNotBindable: String? {
        guard identity == nil, chip?.isPresent != true else { return nil }
        return absence ?? "This machine has no permanent identity."
    }
}

extension KeychainFailure {
    /// The error if a *this device only* item is requested on another machine.
    package static func boundElsewhere(
        _ state: MachineState, itemCount: UInt64? = nil
    ) -> KeychainFailure {
        let what =
            state == .unreachable
            ? "This machine has no permanent identity, or the chip that the keychain is bound to "
                + "can't be used now."
            : "The keychain was bound to another machine, or this machine's identity changed."
        let counted =
            switch itemCount {
            case nil: "Device-only items"
            case 1: "1 device-only item"
            case .some(let count): "\(count) device-only items"
            }
        return KeychainFailure(
            .notAvailable,
            "\(what) \(counted) can't be read here; all others can. Nothing "
                + "was deleted. Use the machine that the keychain comes from, or its recovery "
                + "code: `keychainctl bind --recovery-code`.",
            cause: .otherMachine)
    }
}
