// The rule that decides whether access constraints are satisfied, as a table.

import KeychainCore
import Testing

/// Constraints, and the combinations of proofs that satisfy them.
private struct Rule: CustomTestStringConvertible, Sendable {
    let name: String
    let constraints: AccessConstraints
    /// Whether the constraints are satisfied by no proof, by presence, by a password, and by both.
    let isEnough: [Bool]
    var requiresPassword = false

    var testDescription: String { name }

    /// The password is required if it is among the constraints. Of the other conditions, one
    /// suffices if the constraints contain "or"; otherwise all are required. The passcode counts as
    /// presence. There is no biometric hardware and no companion device.
    static let all: [Rule] = [
        Rule(name: "none", constraints: [], isEnough: [true, true, true, true]),
        Rule(
            name: "private key usage", constraints: .privateKeyUsage,
            isEnough: [true, true, true, true]),
        Rule(name: "or alone", constraints: .or, isEnough: [true, true, true, true]),
        Rule(name: "presence", constraints: .userPresence, isEnough: [false, true, false, true]),
        Rule(name: "passcode", constraints: .devicePasscode, isEnough: [false, true, false, true]),
        Rule(
            name: "passcode for the use of a key",
            constraints: [.devicePasscode, .privateKeyUsage],
            isEnough: [false, true, false, true]),
        Rule(
            name: "password", constraints: .applicationPassword,
            isEnough: [false, false, true, true], requiresPassword: true),
        Rule(
            name: "or with a password alone", constraints: [.applicationPassword, .or],
            isEnough: [false, false, true, true], requiresPassword: true),
        Rule(
            name: "presence, password", constraints: [.userPresence, .applicationPassword],
            isEnough: [false, false, false, true], requiresPassword: true),
        Rule(
            name: "passcode and password",
            constraints: [.devicePasscode, .and, .applicationPassword],
            isEnough: [false, false, false, true], requiresPassword: true),
        Rule(
            name: "passcode, password, or",
            constraints: [.devicePasscode, .or, .applicationPassword],
            isEnough: [false, false, false, true], requiresPassword: true),
        Rule(
            name: "biometry or passcode, password",
            constraints: [.biometryAny, .devicePasscode, .or, .applicationPassword],
            isEnough: [false, false, false, true], requiresPassword: true),
        Rule(
            name: "any biometry", constraints: .biometryAny,
            isEnough: [false, false, false, false]),
        Rule(
            name: "current biometry", constraints: .biometryCurrentSet,
            isEnough: [false, false, false, false]),
        Rule(
            name: "companion", constraints: .companion, isEnough: [false, false, false, false]),
        Rule(
            name: "biometry or passcode", constraints: [.biometryAny, .or, .devicePasscode],
            isEnough: [false, true, false, true]),
        Rule(
            name: "biometry and passcode", constraints: [.biometryAny, .and, .devicePasscode],
            isEnough: [false, false, false, false]),
        Rule(
            name: "biometry, passcode", constraints: [.biometryAny, .devicePasscode],
            isEnough: [false, false, false, false]),
        Rule(
            name: "biometry or companion", constraints: [.biometryAny, .or, .companion],
            isEnough: [false, false, false, false]),
        Rule(
            name: "biometry, password", constraints: [.biometryAny, .applicationPassword],
            isEnough: [false, false, false, false], requiresPassword: true),
        Rule(
            name: "biometry, password, or", constraints: [.biometryAny, .or, .applicationPassword],
            isEnough: [false, false, false, false], requiresPassword: true),
    ]
}

@Suite struct ConstraintRuleTests {
    @Test(arguments: Rule.all)
    private func `constraints are satisfied by exactly the proofs in the table`(rule: Rule) {
        let shown = [(false, false), (true, false), (false, true), (true, true)]
        #expect(
            shown.map {
                rule.constraints.isSatisfied(byPresence: $0.0, applicationPassword: $0.1)
            } == rule.isEnough)
        #expect(rule.constraints.requiresApplicationPassword == rule.requiresPassword)
        // Constraints that are satisfied without a proof need no authentication. All others need
        // it.
        #expect(rule.constraints.needsAuthentication == !rule.isEnough[0])
    }

    @Test func `biometryCurrentSet is satisfied only by biometry under the same enrollment`() {
        for (biometry, isSame, isEnough) in [
            (false, false, false), (false, true, false), (true, false, false), (true, true, true),
        ] {
            #expect(
                AccessConstraints.biometryCurrentSet.isSatisfied(
                    byPresence: true, biometry: biometry, isEnrollmentSame: isSame,
                    applicationPassword: true) == isEnough)
        }
    }
}
