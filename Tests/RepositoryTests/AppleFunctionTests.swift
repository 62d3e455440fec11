// AppleFunctionTests: what can be read off the declarations of Apple's functions.

import Testing

@Suite struct `Apple's functions` {
    /// Whose answer no caller may mean to ignore. Apple's headers say so of the first two
    /// (`warn_unused_result`); the others tell, as the first one does, whether something is
    /// genuine.
    static let verdicts: Set<String> = [
        "SecTrustEvaluateWithError", "SecRandomCopyBytes", "SecKeyVerifySignature",
        "SecKeyRawVerify",
    ]

    /// A function as it is declared.
    private struct Declaration {
        let name: String
        let place: String
        let isStatus: Bool
        let isDiscardable: Bool
    }

    private static func declarations() throws -> [Declaration] {
        var found: [Declaration] = []
        for file in try Repository.files(in: "Sources/KeychainServices", suffix: ".swift") {
            for (index, line) in file.lines.enumerated() {
                guard let name = line.firstMatch(of: /^public func (Sec\w+)/)?.1 else { continue }
                let end = file.lines[index...].prefix(16).first { $0.hasSuffix("{") }
                let attributes = file.lines[..<index].reversed()
                    .prefix { !$0.isEmpty && !$0.hasPrefix("///") }
                found.append(
                    Declaration(
                        name: String(name), place: "\(file):\(index + 1)",
                        isStatus: end?.firstMatch(of: /-> (OSStatus|Int32) \{$/) != nil,
                        isDiscardable: attributes.contains { $0.contains("@discardableResult") }))
            }
        }
        return found
    }

    /// Swift lets the result of an imported C function be ignored without a warning, and existing
    /// code does so: `SecItemDelete(query)` before an addition, for example.
    @Test func `a status may be ignored, as that of an imported function`() throws {
        let statuses = try Self.declarations()
            .filter { $0.isStatus && !Self.verdicts.contains($0.name) }
        for function in statuses {
            #expect(function.isDiscardable, "\(function.place): \(function.name)")
        }
        #expect(statuses.count > 30)
    }

    @Test func `a verdict may not be ignored`() throws {
        let verdicts = try Self.declarations().filter { Self.verdicts.contains($0.name) }
        #expect(Set(verdicts.map(\.name)) == Self.verdicts)
        for function in verdicts {
            #expect(!function.isDiscardable, "\(function.place): \(function.name)")
        }
    }
}
