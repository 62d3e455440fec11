// WayIn: the secrets that open those parts of a keychain for which the device key is not enough,
// summaries of the key slots, and the state of the binding to a machine.

/// A secret that opens the items for which the device key is not enough.
package enum WayIn: Sendable {
    /// At least 1 byte.
    case passcode(SecretBytes)
    /// The 16 bytes that the words of the code encode.
    case recoveryCode(SecretBytes)
    /// The contents of a systemd credential, at least 16 bytes because no key stretching is
    /// applied.
    case credential(SecretBytes)

    package static let leastCredentialByteCount = 16

    package var secret: SecretBytes {
        switch self {
        case .passcode(let secret), .recoveryCode(let secret), .credential(let secret): secret
        }
    }
}

/// A summary of a slot of the keybag, to show to a user.
package struct SlotSummary: Hashable, Sendable {
    package enum Kind: CaseIterable, Hashable, Sendable {
        case passcode, recoveryCode, credential, machineIdentity, machineChip
        /// A slot of a kind from a later version.
        case unknown
    }

    /// The number that identifies the slot, for example to remove it.
    package let number: UInt32
    package let kind: Kind
    /// The time when the slot was created, in seconds since 2001-01-01 00:00:00 UTC.
    package let madeAt: Double
    /// Whether the slot opens the guarded tier, as a passcode does.
    package let opensPasscode: Bool
    /// Whether the slot opens the machine key, and with it *this device only* items.
    package let opensMachine: Bool

    package init(
        number: UInt32, kind: Kind, madeAt: Double, opensPasscode: Bool, opensMachine: Bool
    ) {
        self.number = number
        self.kind = kind
        self.madeAt = madeAt
        self.opensPasscode = opensPasscode
        self.opensMachine = opensMachine
    }
}

/// Whether *this device only* items can be opened on this machine.
package enum MachineState: CaseIterable, Hashable, Sendable {
    /// The keychain is not bound to a machine.
    case notBound
    case thisMachine
    /// The keychain is bound to another machine, or the identity of this one changed.
    case otherMachine
    /// This machine has no identity, or its chip can't be used now.
    case unreachable

    package var isOpen: Bool { self == .notBound || self == .thisMachine }
}
