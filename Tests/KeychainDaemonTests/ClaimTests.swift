import KeychainCore
import Testing

@testable import KeychainDaemon

/// Who claims what, and gets what.
struct ClaimRow: Sendable, CustomTestStringConvertible {
    let entitled: [String]
    let claim: [String]
    let granted: [String]

    init(_ entitled: [String], claim: [String], granted: [String]) {
        self.entitled = entitled
        self.claim = claim
        self.granted = granted
    }

    var testDescription: String { "\(entitled) claiming \(claim)" }
}

@Suite struct ClaimTests {
    // Of the rule: what is in both, in the order of the claim.
    @Test(arguments: [
        ClaimRow(["a", "b"], claim: ["a", "b"], granted: ["a", "b"]),
        ClaimRow(["a", "b"], claim: ["b", "a"], granted: ["b", "a"]),
        ClaimRow(["a", "b"], claim: ["b"], granted: ["b"]),
        ClaimRow(["a", "b"], claim: ["b", "c"], granted: ["b"]),
        ClaimRow(["a", "b"], claim: ["c"], granted: []),
        ClaimRow(["a", "b"], claim: [], granted: []),
        ClaimRow([], claim: ["a"], granted: []),
        ClaimRow([], claim: ["*"], granted: []),
        ClaimRow(["a", "b"], claim: ["*"], granted: ["a", "b"]),
        ClaimRow(["a", "b"], claim: ["b", "*"], granted: ["b", "a"]),
        ClaimRow(["a", "b"], claim: ["c", "*"], granted: ["a", "b"]),
        ClaimRow(["*"], claim: ["a"], granted: ["a"]),
        ClaimRow(["a", "*"], claim: ["b"], granted: ["b"]),
        ClaimRow(["a", "*"], claim: ["*"], granted: ["a", "*"]),
        ClaimRow(["a", "*"], claim: ["b", "*"], granted: ["b", "a", "*"]),
        ClaimRow(["*"], claim: [], granted: []),
        ClaimRow(
            ["a", "com.apple.token"], claim: ["com.apple.token"], granted: ["com.apple.token"]),
        ClaimRow(["a"], claim: ["com.apple.token", "a"], granted: ["a"]),
    ])
    func `a claim narrows what a program is entitled to and never widens it`(_ row: ClaimRow) {
        let granted = AccessGroups(row.entitled).granted(to: AccessGroups(row.claim))
        #expect(granted == AccessGroups(row.granted))
    }

    @Test func `a claim says nothing of the program`() {
        let own = AccessGroups(["default"], program: "own")
        for claim in [["default"], ["default", "*"], ["*"]] {
            let granted = own.granted(to: AccessGroups(claim, program: "other"))
            #expect(granted == own)
        }
        let entitled = AccessGroups(["a"]).granted(to: AccessGroups(["a"], program: "other"))
        #expect(entitled.program == nil)
    }
}
