// KeyFailureTests: errors of the `SecKey` functions, by error domain.

import Foundation
import KeychainAuthentication
import KeychainCore
import Testing

@testable import KeychainSecItem

@Suite struct KeyFailureTests {
    /// Domain, code and expected status. The known codes are in Apple's `SecBase.h`, `LAError.h`
    /// and `TKError.h`. The statuses are those that the SecItem functions return in the same case.
    static let rows: [(String, Int, Status)] = [
        (NSOSStatusErrorDomain, -25308, .interactionNotAllowed),
        (NSOSStatusErrorDomain, -50, .param),
        // The codes -2 and -4 have other meanings in other domains.
        (NSOSStatusErrorDomain, -2, Status(rawValue: -2)),
        (NSOSStatusErrorDomain, -4, .unimplemented),
        (LAErrorDomain, LAError.Code.userCancel.rawValue, .userCanceled),
        (LAErrorDomain, LAError.Code.notInteractive.rawValue, .interactionNotAllowed),
        (LAErrorDomain, LAError.Code.authenticationFailed.rawValue, .authFailed),
        // The system canceled the prompt; the user didn't decline.
        (LAErrorDomain, LAError.Code.systemCancel.rawValue, .authFailed),
        (LAErrorDomain, -9999, .authFailed),
        ("CryptoTokenKit", -1, .unimplemented), ("CryptoTokenKit", -2, .internalError),
        ("CryptoTokenKit", -3, .decode), ("CryptoTokenKit", -4, .userCanceled),
        ("CryptoTokenKit", -5, .authFailed), ("CryptoTokenKit", -6, .itemNotFound),
        ("CryptoTokenKit", -7, .itemNotFound), ("CryptoTokenKit", -8, .param),
        ("CryptoTokenKit", -9, .interactionNotAllowed), ("CryptoTokenKit", -9999, .internalError),
        (NSCocoaErrorDomain, -2, .internalError),
        (NSPOSIXErrorDomain, -4, .internalError),
    ]

    @Test(arguments: rows)
    func `an error code is interpreted in its own domain`(
        domain: String, code: Int, status: Status
    ) {
        #expect(KeychainFailure(NSError(domain: domain, code: code)).status == status)
    }

    @Test func `an error of an unknown domain is reported with that domain`() {
        let failure = KeychainFailure(NSError(domain: "com.example", code: 7))
        #expect(failure.reason == "The function failed with the error 7 of com.example.")
    }
}
