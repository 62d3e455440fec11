// KeySlot: one way to open the tier key, the machine key or both, comparable to the key slots of
// LUKS.

package import FoundationEssentials
import KeychainCore

package struct KeySlot: Hashable, Sendable {
    /// The keys that a slot opens. Each is sealed in its own box in the slot.
    package struct Opens: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The key of the guarded tier.
        package static let tier = Opens(rawValue: 1)
        /// The key that the *this device only* classes require.
        package static let machine = Opens(rawValue: 2)

        var elements: [Opens] { [.tier, .machine].filter { contains($0) } }
    }

    package enum Kind: Hashable, Sendable {
        case passcode, recoveryCode, credential, machineIdentity, machineChip
        /// A kind from a later version.
        case unknown(UInt8)

        package init(_ code: UInt8) {
            self = Self.known.first { $0.code == code } ?? .unknown(code)
        }

        package var code: UInt8 {
            switch self {
            case .passcode: 1
            case .recoveryCode: 2
            case .credential: 3
            case .machineIdentity: 4
            case .machineChip: 5
            case .unknown(let code): code
            }
        }

        private static let known: [Kind] = [
            .passcode, .recoveryCode, .credential, .machineIdentity, .machineChip,
        ]

        /// Whether a slot of this kind can open these keys.
        fileprivate func fits(_ opens: Opens) -> Bool {
            switch self {
            case .passcode, .credential: opens == .tier
            case .machineIdentity, .machineChip: opens == .machine
            case .recoveryCode, .unknown: true
            }
        }

        package var isOfMachine: Bool { self == .machineIdentity || self == .machineChip }

        var isKnown: Bool { Self.known.contains(self) }
    }

    package var kind: Kind
    /// Unique among all slots, including those that were removed.
    package var number: UInt32
    /// The time of creation, in seconds since 2001-01-01 00:00:00 UTC.
    package var madeAt: Double
    package var opens: Opens
    /// 16 random bytes. Empty for a slot of an unknown kind.
    package var salt: [UInt8]
    /// The scrypt cost, for a passcode.
    package var cost: PasscodeCost?
    /// The secret sealed by the chip, for a slot of the machine's chip.
    package var sealed: Data?
    /// The keys that the slot opens, each sealed under the slot's wrapping key, in the order of the
    /// bits in ``opens``. Empty for a slot of an unknown kind.
    package var boxes: [Data]
    /// For a slot of an unknown kind: the bytes after its head.
    private var unknownBytes: [UInt8] = []

    package init(
        kind: Kind, number: UInt32, madeAt: Double, opens: Opens, salt: [UInt8],
        cost: PasscodeCost? = nil, sealed: Data? = nil, boxes: [Data]
    ) {
        self.kind = kind
        self.number = number
        self.madeAt = madeAt
        self.opens = opens
        self.salt = salt
        self.cost = cost
        self.sealed = sealed
        self.boxes = boxes
    }

    /// Returns the slot without the keys in `end`, which no longer exist. Returns `nil` if the slot
    /// opens no keys other than those in `end`, or if the slot is of an unknown kind and opens any
    /// key in `end`.
    func removing(_ end: Opens) -> KeySlot? {
        var slot = self
        slot.opens = opens.subtracting(end)
        guard slot.opens != opens else { return self }
        guard !slot.opens.isEmpty, kind.isKnown else { return nil }
        slot.boxes = zip(opens.elements, boxes).filter { slot.opens.contains($0.0) }.map(\.1)
        return slot
    }

    // MARK: Bytes

    private static let headByteCount = 16

    var bytes: [UInt8] {
        var rest = ByteWriter()
        rest.bytes(unknownBytes)
        if kind.isKnown {
            rest.bytes(salt)
            if let cost {
                rest.bytes([cost.logN, cost.blockSize, cost.parallelism, 0])
            }
            if let sealed {
                rest.number(UInt16(truncatingIfNeeded: sealed.count))
                rest.bytes(sealed)
            }
            for box in boxes { rest.bytes(box) }
        }
        var head = ByteWriter()
        head.number(UInt16(truncatingIfNeeded: Self.headByteCount + rest.result.count))
        head.bytes([kind.code, opens.rawValue])
        head.number(number)
        head.number(madeAt.bitPattern)
        return head.result + rest.result
    }

    init?(reading source: inout ByteReader) {
        guard let size: UInt16 = source.number(), let bytes = source.bytes(Int(size) - 2) else {
            return nil
        }
        var reader = ByteReader(bytes)
        guard let code: UInt8 = reader.number(), let opens: UInt8 = reader.number(),
            let number: UInt32 = reader.number(), let date: UInt64 = reader.number()
        else { return nil }
        self.init(
            kind: Kind(code), number: number, madeAt: Double(bitPattern: date),
            opens: Opens(rawValue: opens), salt: [], boxes: [])
        guard madeAt.isFinite, kind.fits(self.opens) else { return nil }
        if kind.isKnown {
            guard readContent(&reader) else { return nil }
        } else {
            unknownBytes = reader.bytes(reader.remainingCount) ?? []
        }
    }

    private mutating func readContent(_ reader: inout ByteReader) -> Bool {
        guard let salt = reader.bytes(16) else { return false }
        self.salt = salt
        if kind == .passcode {
            guard let logN: UInt8 = reader.number(), let blockSize: UInt8 = reader.number(),
                let parallelism: UInt8 = reader.number(), let zero: UInt8 = reader.number()
            else { return false }
            let cost = PasscodeCost(logN: logN, blockSize: blockSize, parallelism: parallelism)
            guard zero == 0, cost.isAcceptable else { return false }
            self.cost = cost
        }
        if kind == .machineChip {
            guard let count: UInt16 = reader.number(),
                SealedDeviceKeyFile.sealedByteCounts.contains(Int(count)),
                let sealed = reader.bytes(Int(count))
            else { return false }
            self.sealed = Data(sealed)
        }
        for _ in opens.elements {
            guard let box = reader.bytes(AuthenticatedEncryption.wrappedKeyByteCount) else {
                return false
            }
            boxes.append(Data(box))
        }
        return reader.isAtEnd
    }
}
