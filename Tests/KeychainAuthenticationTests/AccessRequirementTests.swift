// The authentication that constraints require, as a truth table. The rows follow from the meaning
// of the flags in Apple's SecAccessControl.h: `userPresence` is biometry or passcode; several
// conditions are all required unless they are combined with `or`; an application password is never
// one of several alternatives.

import KeychainAuthentication
import KeychainCore
import Testing

struct RequirementRow: Sendable, CustomStringConvertible {
    let constraints: AccessConstraints
    let proven: Set<PresenceMethod>
    let biometryObstacle: LAError.Code?
    let hasPasscode: Bool
    let step: PresenceStep

    /// `without` is the reason why biometry can't be used, or `nil` if biometry can be used.
    init(
        _ constraints: AccessConstraints, proven: Set<PresenceMethod> = [],
        without obstacle: LAError.Code? = .biometryNotAvailable, hasPasscode: Bool = true,
        _ step: PresenceStep
    ) {
        self.constraints = constraints
        self.proven = proven
        self.biometryObstacle = obstacle
        self.hasPasscode = hasPasscode
        self.step = step
    }

    var description: String {
        "\(String(constraints.rawValue, radix: 16)) \(proven) \(hasPasscode) → \(step)"
    }
}

private let rows: [RequirementRow] = [
    // No constraint that requires presence.
    .init([], .none),
    .init(.privateKeyUsage, .none),
    .init(.applicationPassword, .none),
    .init([], hasPasscode: false, .none),
    // Presence, proved by biometry or passcode.
    .init(.userPresence, .askPasscode),
    .init([.userPresence, .privateKeyUsage], .askPasscode),
    .init([.userPresence, .applicationPassword], .askPasscode),
    .init(.userPresence, proven: [.passcode], .none),
    .init(.userPresence, proven: [.biometry], .none),
    .init(.userPresence, proven: [.companion], .askPasscode),
    .init(.userPresence, without: nil, .recognize(mayFallBack: true)),
    .init(.userPresence, without: nil, hasPasscode: false, .recognize(mayFallBack: false)),
    .init(.userPresence, hasPasscode: false, .impossible(.passcodeNotSet)),
    // The passcode.
    .init(.devicePasscode, .askPasscode),
    .init(.devicePasscode, without: nil, .askPasscode),
    .init(.devicePasscode, proven: [.biometry], .askPasscode),
    .init(.devicePasscode, proven: [.passcode], .none),
    .init(.devicePasscode, hasPasscode: false, .impossible(.passcodeNotSet)),
    // Biometry.
    .init(.biometryAny, .impossible(.biometryNotAvailable)),
    .init(.biometryAny, without: .biometryNotEnrolled, .impossible(.biometryNotEnrolled)),
    .init(.biometryAny, without: .biometryLockout, .impossible(.biometryLockout)),
    .init(.biometryAny, without: nil, .recognize(mayFallBack: false)),
    .init(.biometryAny, proven: [.passcode], .impossible(.biometryNotAvailable)),
    .init(.biometryAny, proven: [.biometry], .none),
    .init(.biometryCurrentSet, .impossible(.biometryNotAvailable)),
    .init(.biometryCurrentSet, without: nil, .recognize(mayFallBack: false)),
    .init(.biometryCurrentSet, proven: [.biometry, .passcode], .none),
    // A companion device.
    .init(.companion, .impossible(.companionNotAvailable)),
    .init(.companion, without: nil, .impossible(.companionNotAvailable)),
    .init([.companion, .applicationPassword], .impossible(.companionNotAvailable)),
    // All of several conditions.
    .init([.biometryAny, .devicePasscode], .impossible(.biometryNotAvailable)),
    .init([.biometryAny, .devicePasscode], without: nil, .recognize(mayFallBack: false)),
    .init([.biometryAny, .devicePasscode, .and], without: nil, .recognize(mayFallBack: false)),
    .init([.biometryAny, .devicePasscode], proven: [.biometry], without: nil, .askPasscode),
    .init([.biometryAny, .devicePasscode], proven: [.biometry, .passcode], .none),
    .init(
        [.biometryAny, .devicePasscode], without: nil, hasPasscode: false,
        .impossible(.passcodeNotSet)),
    .init(
        [.companion, .devicePasscode], proven: [.passcode], .impossible(.companionNotAvailable)),
    // One of several conditions.
    .init([.biometryAny, .devicePasscode, .or], .askPasscode),
    .init([.biometryAny, .devicePasscode, .or], without: nil, .recognize(mayFallBack: true)),
    .init([.biometryAny, .devicePasscode, .or], proven: [.passcode], .none),
    .init([.biometryAny, .devicePasscode, .or], proven: [.biometry], .none),
    .init(
        [.biometryAny, .devicePasscode, .or], hasPasscode: false,
        .impossible(.passcodeNotSet)),
    .init([.companion, .biometryAny, .or], without: nil, .recognize(mayFallBack: false)),
    .init([.companion, .devicePasscode, .or], .askPasscode),
    .init(
        [.biometryCurrentSet, .devicePasscode, .or], without: nil, .recognize(mayFallBack: true)),
    .init([.biometryAny, .companion, .or], .impossible(.biometryNotAvailable)),
]

@Suite struct `What constraints ask for` {
    @Test func `the next step follows from what was proved and what can still be proved`() {
        var ran = 0
        for row in rows {
            let requirement = AccessRequirement(row.constraints)
            let possible = PresencePossibilities(
                passcode: row.hasPasscode, biometryObstacle: row.biometryObstacle)
            #expect(requirement.nextStep(proven: row.proven, possible) == row.step, "\(row)")
            #expect(requirement.isSatisfied(by: row.proven) == (row.step == .none), "\(row)")
            #expect(
                requirement.needsApplicationPassword
                    == row.constraints.contains(.applicationPassword), "\(row)")
            ran += 1
        }
        #expect(ran == 46)
    }

    /// The keychain decides whether proofs suffice, and KeychainAuthentication obtains the proofs.
    /// If the two disagreed, a prompt would be useless or unnecessary.
    @Test func `KeychainAuthentication and the keychain agree on every combination of conditions`()
    {
        let conditions: [AccessConstraints] = [
            .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
        ]
        var count = 0
        for bits in 0..<(1 << conditions.count) {
            var constraints: AccessConstraints = []
            for (index, condition) in conditions.enumerated() where bits >> index & 1 == 1 {
                constraints.insert(condition)
            }
            for combination in [AccessConstraints.or, .and, []] {
                for proven in [[], [.passcode], [.biometry], [.passcode, .biometry]]
                    as [Set<PresenceMethod>]
                {
                    let others = constraints.union(combination)
                    for all in [others, others.union(.applicationPassword)] {
                        #expect(
                            AccessRequirement(all).isSatisfied(by: proven)
                                == all.isSatisfied(
                                    byPresence: proven.contains(.passcode),
                                    biometry: proven.contains(.biometry),
                                    isEnrollmentSame: true, applicationPassword: true))
                        count += 1
                    }
                }
            }
        }
        #expect(count == 32 * 3 * 4 * 2)
    }

    @Test func `each LAPolicy requires the authentication that its name says`() {
        #expect(
            AccessRequirement(LAPolicy.deviceOwnerAuthentication)
                == AccessRequirement(.userPresence))
        #expect(
            AccessRequirement(LAPolicy.deviceOwnerAuthenticationWithBiometrics)
                == AccessRequirement(.biometryAny))
        #expect(
            AccessRequirement(LAPolicy.deviceOwnerAuthenticationWithCompanion)
                == AccessRequirement(.companion))
        #expect(
            AccessRequirement(LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion)
                == AccessRequirement([.biometryAny, .companion, .or]))
    }
}
