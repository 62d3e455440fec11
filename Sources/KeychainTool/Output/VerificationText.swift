// VerificationText: describes whether a keychain is verified to be in the state of its last commit.

import KeychainCore

enum VerificationText {
    static func text(of state: VerificationState) -> String {
        let moment = state.moment.map(timestamp) ?? ""
        let text =
            switch state.standing {
            case .unneeded: "there are no files to verify"
            case .verified: "yes, at \(moment)"
            case .verifiedHere:
                "yes, at \(moment), by this process only: nothing in XDG_RUNTIME_DIR records it"
            case .running: "not yet: verification is in progress"
            case .never:
                "no, not since the machine booted, or since a killed process left the keychain's "
                    + "log behind. `keychainctl check` verifies it; if a passcode is set, it is "
                    + "required"
            case .changed:
                "no: its files have changed in an unknown way since it was verified at \(moment). "
                    + "`keychainctl check` verifies it again; if a passcode is set, it is required"
            case .failed:
                "no: \(state.problem ?? "it is damaged"). `keychainctl recover` rebuilds it from "
                    + "all intact items"
            }
        return printable(text)
    }
}
