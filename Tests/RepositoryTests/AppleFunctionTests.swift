// AppleFunctionTests: what can be read off the declarations of Apple's functions.

import Testing

@Suite struct `Apple's functions` {
    /// Whose answer decides whether something is genuine: nobody means to ignore it.
    static let verdicts: Set<String> = ["SecKeyVerifySignature", "SecKeyRawVerify"]

    /// Swift lets the result of every imported C function be ignored without a warning, and
    /// existing code does so: `SecItemDelete(query)` before an addition, for example.
    @Test func `a status may be ignored, as that of an imported function`() throws {
        var count = 0
        for file in try Repository.files(in: "Sources/KeychainServices", suffix: ".swift") {
            for (index, line) in file.lines.enumerated() {
                guard let name = line.firstMatch(of: /^public func (Sec\w+)/)?.1 else { continue }
                let isStatus =
                    file.lines[index...].prefix(16)
                    .first { $0.hasSuffix("{") }?.firstMatch(of: /-> (OSStatus|Int32) \{$/) != nil
                guard isStatus, !Self.verdicts.contains(String(name)) else { continue }
                count += 1
                let attributes = file.lines[..<index].reversed()
                    .prefix { !$0.isEmpty && !$0.hasPrefix("///") }
                #expect(
                    attributes.contains { $0.contains("@discardableResult") },
                    "\(file):\(index + 1): \(name)")
            }
        }
        #expect(count > 30)
    }
}
