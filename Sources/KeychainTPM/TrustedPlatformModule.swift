// TrustedPlatformModule: keys in a TPM 2.0, and the chip's description of itself.
//   (1) The chip creates the private keys. They leave the chip only encrypted under a key that
//       never leaves the chip (TPMA_OBJECT: fixedTPM, fixedParent, sensitiveDataOrigin).
//   (2) This module stores nothing in the chip, so the number of keys is unlimited and there is
//       nothing to clean up.
//   (3) Authorization values, shared secrets and sealed bytes are encrypted on their way between
//       this process and the chip, in sessions that are salted to the storage key.
//   (4) A chip is identified by the names of its storage keys, at most two. A name is the hash of
//       the public part. A session is salted to this public part, so that only the chip with the
//       private part can continue it.
//   (5) A chip states its manufacturer in TPM_PT_MANUFACTURER (TPM 2.0 Library, part 2), with the
//       letters of the TCG Vendor ID Registry.

#if TPM

import CKeychainTSS2
package import FoundationEssentials
package import KeychainCore
package import KeychainCrypto
import Synchronization

package final class TrustedPlatformModule: KeyHardware {
    /// The allowed sizes of the bytes that a chip seals.
    package static let sealedByteCounts = 1...128

    private let access: ChipAccess
    private let maker = Mutex<ChipMaker?>(nil)
    /// Whether the TCTI configuration itself names a simulator.
    private let isSimulatorNamed: Bool
    /// The permitted names of the storage key; `nil` to permit any.
    private let names: [[UInt8]]?

    /// Creates the module. Nothing is loaded or opened before the first use.
    ///
    /// - Parameters:
    ///   - configuration: The TCTI configuration, in the syntax of tpm2-tss, such as
    ///     `device:/dev/tpmrm0`.
    ///   - patience: How long an operation waits while other programs use the chip.
    package init(configuration: String, patience: Duration = .seconds(5)) {
        access = ChipAccess(configuration: configuration, patience: patience)
        names = nil
        isSimulatorNamed = ["swtpm", "mssim"].contains {
            configuration == $0 || configuration.hasPrefix($0 + ":")
        }
    }

    /// The same chip over the same connection, restricted to storage keys with these names.
    private init(_ other: TrustedPlatformModule, named names: [[UInt8]]) {
        access = other.access
        isSimulatorNamed = other.isSimulatorNamed
        self.names = names
    }

    // MARK: Identity of the chip

    package func identity() throws(KeychainFailure) -> [Data] {
        let names = try access.query { connection throws(ResponseFailure) in
            // One of the keys may be inaccessible because the owner has set a password.
            let found = try ChipOperation.storageKeys(connection).map { key in
                Result { () throws(ResponseFailure) in
                    try ChipOperation.name(of: key, connection)
                }
            }
            let names = found.compactMap { try? $0.get() }
            return names.isEmpty
                ? try found.map { key throws(ResponseFailure) in try key.get() } : names
        }
        return Set(names).map { Data($0) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    package func bound(to identity: [Data]) -> any KeyHardware {
        TrustedPlatformModule(self, named: identity.map { Array($0) })
    }

    // MARK: Description of the chip

    /// The chip's kind and manufacturer; only `TPM 2.0` until the chip has responded once.
    package var name: String {
        (try? knownMaker()).map { $0.name(isSimulatorNamed: isSimulatorNamed) } ?? "TPM 2.0"
    }

    /// The reason why the chip can't be used at the moment; `nil` if it responds.
    package var failure: KeychainFailure? {
        do {
            // Queried each time, because the chip may have disappeared since its manufacturer was
            // read.
            _ = try access.query(ChipMaker.init(asking:))
            return nil
        } catch {
            return error
        }
    }

    private func knownMaker() throws(KeychainFailure) -> ChipMaker {
        if let known = maker.withLock({ $0 }) { return known }
        let asked = try access.query(ChipMaker.init(asking:))
        maker.withLock { $0 = asked }
        return asked
    }

    // MARK: Keys

    package func makeKey(authorization: SecretBytes) throws(KeychainFailure) -> HardwareKey {
        try Self.check(authorization)
        let nothing = SecretBytes(copying: [])
        let key = try access.perform(named: names) { operation throws(ResponseFailure) in
            return try operation.create(.key, authorization: authorization, content: nothing)
        }
        let publicKey = Data([4] + key.publicArea.point)
        guard publicKey.isPointOnP256 else {
            throw KeychainFailure(
                .notAvailable, "The TPM created a key that isn't on the curve P-256.")
        }
        return HardwareKey(wrapped: key.bytes, publicKey: publicKey)
    }

    package func sign(
        digest: Data, with wrapped: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> Data {
        guard digest.count == 32 else {
            throw .param("A hardware key signs only digests of 32 bytes.")
        }
        try Self.check(authorization)
        let key = try WrappedObject(wrapped, .key)
        let digest = Array(digest)
        return Data(
            try access.perform(named: names) { operation throws(ResponseFailure) in
                let loaded = try operation.load(key, authorization: authorization)
                return try operation.sign(digest, with: loaded)
            })
    }

    package func sharedSecret(
        of wrapped: Data, with publicKey: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes {
        // A chip that multiplied a point that is not on the curve would leak information about its
        // key.
        guard publicKey.isPointOnP256 else {
            throw .param("The public key is not a point on the curve P-256.")
        }
        try Self.check(authorization)
        let key = try WrappedObject(wrapped, .key)
        let point = Array(publicKey.dropFirst())
        return try access.perform(named: names) { operation throws(ResponseFailure) in
            let loaded = try operation.load(key, authorization: authorization)
            return try operation.multiply(point, by: loaded)
        }
    }

    // MARK: Sealing

    package func seal(_ secret: SecretBytes) throws(KeychainFailure) -> Data {
        guard Self.sealedByteCounts.contains(secret.count) else {
            throw .param("A TPM seals 1 to 128 bytes.")
        }
        let nothing = SecretBytes(copying: [])
        return try access.perform(named: names) { operation throws(ResponseFailure) in
            return try operation.create(.sealed, authorization: nothing, content: secret)
        }.bytes
    }

    package func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes {
        let object = try WrappedObject(sealed, .sealed)
        let nothing = SecretBytes(copying: [])
        return try access.perform(named: names) { operation throws(ResponseFailure) in
            let loaded = try operation.load(object, authorization: nothing)
            return try operation.unseal(loaded)
        }
    }

    // MARK: Checks

    private static func check(_ authorization: SecretBytes) throws(KeychainFailure) {
        guard authorization.count == 32 else {
            throw .param("The authorization value of a hardware key must have 32 bytes.")
        }
    }
}

// MARK: - The maker

struct ChipMaker: Hashable, Sendable {
    /// At most four letters.
    let letters: String
    /// The manufacturer's name for the chip, which can be empty.
    let model: String

    private static let names = [
        "AMD": "AMD", "ATML": "Atmel", "BRCM": "Broadcom", "GOOG": "Google", "IBM": "IBM",
        "IFX": "Infineon", "INTC": "Intel", "MSFT": "Microsoft", "NSM": "National Semiconductor",
        "NTC": "Nuvoton", "QCOM": "Qualcomm", "STM": "STMicroelectronics",
    ]

    init(letters: String, model: String) {
        self.letters = letters
        self.model = model
    }

    init(asking connection: TSSConnection) throws(ResponseFailure) {
        let first = KEYCHAIN_TPM2_PT_MANUFACTURER
        let properties = try connection.properties(from: first, atMost: 5)
        letters = Self.text(properties[first].map { [$0] } ?? [])
        model = Self.text(
            (0..<4).compactMap { properties[KEYCHAIN_TPM2_PT_VENDOR_STRING_1 + $0] })
    }

    /// libtpms, which is used by swtpm and therefore by virtual machines, has the manufacturer IBM
    /// and the model `SW   TPM`.
    func name(isSimulatorNamed: Bool) -> String {
        let isSimulated = isSimulatorNamed || (letters == "IBM" && model.hasPrefix("SW"))
        let kind =
            isSimulated ? "TPM 2.0 simulated by software, not hardware" : "TPM 2.0"
        guard !letters.isEmpty else { return kind }
        return "\(kind) (maker: \(Self.names[letters] ?? letters))"
    }

    /// Decodes four letters per number, padded with spaces or zeros. Characters that aren't
    /// printable are omitted.
    static func text(_ words: [UInt32]) -> String {
        let bytes = words.flatMap { word in
            stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
        let text = String(
            decoding: bytes.filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
        return String(text.reversed().drop { $0 == " " }.reversed())
    }
}

#endif
