// WayIn: what opens a keychain besides the device key, and the slots that keep it.

/// What opens the items that need more than the device key.
package enum WayIn: Sendable {
    /// 1 byte and up.
    case passcode(SecretBytes)
    /// The 16 bytes of its words.
    case recoveryCode(SecretBytes)
    /// What a systemd credential holds, 16 bytes and up: it isn't stretched.
    case credential(SecretBytes)

    package static let leastCredentialByteCount = 16

    package var secret: SecretBytes {
        switch self {
        case .passcode(let secret), .recoveryCode(let secret), .credential(let secret): secret
        }
    }
}

/// A slot of the keybag, for people.
package struct SlotSummary: Hashable, Sendable {
    package enum Kind: CaseIterable, Hashable, Sendable {
        case passcode, recoveryCode, credential, machineIdentity, machineChip
        /// One of a later version.
        case unknown
    }

    /// What it is removed by.
    package let number: UInt32
    package let kind: Kind
    /// When it was made, in seconds since 2001-01-01 00:00:00 UTC.
    package let madeAt: Double
    /// Whether it opens what a passcode opens.
    package let opensPasscode: Bool
    /// Whether it opens what stays on this device.
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

/// Whether what stays on this device opens here.
package enum MachineState: CaseIterable, Hashable, Sendable {
    /// It doesn't need the machine.
    case notBound
    case thisMachine
    /// It was bound to another one, or this one's identity changed.
    case otherMachine
    /// This machine has no identity, or its chip can't be used now.
    case unreachable

    package var isOpen: Bool { self == .notBound || self == .thisMachine }
}
