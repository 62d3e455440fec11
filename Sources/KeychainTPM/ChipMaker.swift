// ChipMaker: what a chip says of itself. TPM 2.0 Library, part 2, TPM_PT_MANUFACTURER; the letters
// are those of the TCG Vendor ID Registry.

#if TPM

import CKeychainTSS2
import KeychainCore

struct ChipMaker: Hashable, Sendable {
    /// Up to four letters.
    let letters: String
    /// What the maker calls it. It may be empty.
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

    /// libtpms, which swtpm and so virtual machines use, is IBM's and calls itself `SW   TPM`.
    func name(isSimulatorNamed: Bool) -> String {
        let isSimulated = isSimulatorNamed || (letters == "IBM" && model.hasPrefix("SW"))
        let kind =
            isSimulated ? "TPM 2.0 simulated by software, which is no hardware" : "TPM 2.0"
        guard !letters.isEmpty else { return kind }
        return "\(kind) (maker: \(Self.names[letters] ?? letters))"
    }

    /// Four letters a number, filled up with spaces or zeros. What isn't printable is left out.
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
