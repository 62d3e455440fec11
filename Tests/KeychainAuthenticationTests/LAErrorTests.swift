// Errors and constants of LocalAuthentication, as in Apple's LAError.h and LAPublicDefines.h.

import Foundation
import KeychainAuthentication
import KeychainCore
import Testing

@Suite struct `Errors and numbers of LocalAuthentication` {
    @Test func `error codes have Apple's numbers`() {
        let numbers: [(LAError.Code, Int)] = [
            (.authenticationFailed, -1), (.userCancel, -2), (.userFallback, -3),
            (.systemCancel, -4), (.passcodeNotSet, -5), (.biometryNotAvailable, -6),
            (.touchIDNotAvailable, -6), (.biometryNotEnrolled, -7), (.touchIDNotEnrolled, -7),
            (.biometryLockout, -8), (.touchIDLockout, -8), (.appCancel, -9),
            (.invalidContext, -10), (.companionNotAvailable, -11), (.watchNotAvailable, -11),
            (.notInteractive, -1004),
        ]
        for (code, number) in numbers { #expect(code.rawValue == number) }
        #expect(LAErrorDomain == "com.apple.LocalAuthentication")
    }

    @Test func `policies, operations, credentials and biometry types have Apple's numbers`() {
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue == 1)
        #expect(LAPolicy.deviceOwnerAuthentication.rawValue == 2)
        #expect(LAPolicy.deviceOwnerAuthenticationWithWatch.rawValue == 3)
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch.rawValue == 4)
        let operations: [LAAccessControlOperation] = [
            .createItem, .useItem, .createKey, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange,
        ]
        #expect(operations.map(\.rawValue) == Array(0...5))
        #expect(LACredentialType.applicationPassword.rawValue == 0)
        #expect(LACredentialType.smartCardPIN.rawValue == -3)
        let types: [LABiometryType] = [.none, .touchID, .faceID, .opticID]
        #expect(types.map(\.rawValue) == [0, 1, 2, 4])
        #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
    }

    @Test func `an error can be cast to NSError and back`() throws {
        let object = LAError(.userCancel) as NSError
        #expect(object.domain == LAErrorDomain)
        #expect(object.code == -2)
        #expect(!object.localizedDescription.isEmpty)
        let error = try #require(object as? LAError)
        #expect(error == LAError(.userCancel))
        #expect(error.code == .userCancel)
        #expect(error.errorCode == -2)
        let foreign = NSError(domain: "other", code: -2) as? LAError
        #expect(foreign == nil)
        let unknown = NSError(domain: LAErrorDomain, code: -99) as? LAError
        #expect(unknown == nil)
        let given = LAError(.systemCancel, userInfo: [NSLocalizedDescriptionKey: "So."])
        #expect(given.localizedDescription == "So.")
        #expect((given as NSError).userInfo[NSLocalizedDescriptionKey] as? String == "So.")
    }

    @Test func `an error can be created from any NSError`() throws {
        let object = NSError(
            domain: LAErrorDomain, code: -9, userInfo: [NSLocalizedDescriptionKey: "So."])
        let error = LAError(_nsError: object)
        #expect(error.code == .appCancel)
        #expect(error.localizedDescription == "So.")
        #expect(error._nsError == object)
        #expect(LAError(_nsError: NSError(domain: "other", code: -9)).code == .systemCancel)
        #expect(LAError(_nsError: NSError(domain: LAErrorDomain, code: 1)).code == .systemCancel)
        let foreign = NSError(
            domain: "other", code: 7, userInfo: [NSLocalizedDescriptionKey: "So it is."])
        let converted = LAError(_nsError: foreign)
        #expect(converted.localizedDescription == "So it is.")
        #expect(try #require(converted.userInfo[NSUnderlyingErrorKey] as? NSError) == foreign)
    }

    @Test(arguments: [false, true])
    func `a catch clause can match an error code`(_ asObject: Bool) {
        do {
            if asObject { throw NSError(domain: LAErrorDomain, code: -2) }
            throw LAError(.userCancel)
        } catch LAError.userFallback {
            Issue.record("another code")
        } catch LAError.userCancel {
            // Expected.
        } catch {
            Issue.record("not recognized: \(error)")
        }
    }

    /// The statuses are Apple's, except those for missing hardware (Differences.md,
    /// "Authentication").
    @Test(
        arguments: [
            (LAError.Code.userCancel, -128), (.notInteractive, -25308),
            (.authenticationFailed, -25293), (.userFallback, -25293), (.systemCancel, -25293),
            (.passcodeNotSet, -25293), (.biometryLockout, -25293), (.appCancel, -25293),
            (.invalidContext, -25293), (.biometryNotAvailable, -25291),
            (.biometryNotEnrolled, -25291), (.companionNotAvailable, -25291),
        ] as [(LAError.Code, Int32)])
    func `each error code is mapped to its keychain status`(_ code: LAError.Code, _ status: Int32) {
        #expect(AuthenticationFailure.refused(code).keychainFailure.status.rawValue == status)
    }

    @Test func `a failure of the keychain is reported as KeychainFailure and as LAError`() throws {
        let failure = AuthenticationFailure.keychain(.busy("So it is."))
        #expect(failure.keychainFailure == .busy("So it is."))
        let error = failure.localError
        #expect(error.code == .authenticationFailed)
        #expect(error.localizedDescription == "So it is.")
        let cause = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(cause.code == -25291)
    }
}
