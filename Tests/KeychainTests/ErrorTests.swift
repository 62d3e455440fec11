// Errors: their codes, their suggestions for recovery, and the data that they never reveal.

import Crypto
import Foundation
import KeychainCore
import Testing

@testable import Keychain

/// Fails every request with the same failure.
struct FailingService: RequestHandler {
    let failure: KeychainFailure

    init(failure: KeychainFailure) { self.failure = failure }

    init(status: Status, cause: KeychainFailure.Cause = .other) {
        failure = KeychainFailure(status, "A reason.", cause: cause)
    }

    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        throw failure
    }
}

extension KeychainKey where Value == SymmetricKey {
    static var sized: Self { Self("x", size: .bits256) }
}

extension KeychainKey where Value == DeviceState {
    /// A key with custom coders.
    static var secondsSince1970: Self {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return Self("x", encoder: encoder, decoder: decoder)
    }
}

@Suite struct ErrorTests {
    /// Statuses and their error codes. The last code has no name.
    static let codes: [(Status, KeychainError.Code)] = [
        (.unimplemented, .unimplemented), (.diskFull, .diskFull), (.ioError, .ioError),
        (.param, .param), (.allocate, .allocate), (.userCanceled, .userCanceled),
        (.notAvailable, .notAvailable), (.readOnly, .readOnly), (.authFailed, .authFailed),
        (.invalidKeychain, .invalidKeychain), (.noSuchAttribute, .noSuchAttribute),
        (.noSuchClass, .noSuchClass), (.interactionNotAllowed, .interactionNotAllowed),
        (.wrongVersion, .wrongVersion), (.dataNotAvailable, .dataNotAvailable),
        (.decode, .decode), (.internalError, .internalError),
        (.missingEntitlement, .missingEntitlement),
        (Status(rawValue: -25_257), KeychainError.Code(rawValue: -25_257)),
    ]

    @Test(arguments: Way.allCases, codes)
    func `every status keeps its number as an error code`(
        way: Way, row: (status: Status, code: KeychainError.Code)
    ) throws {
        let keychain = Keychain(
            service: "s",
            in: way.database(FailingService(status: row.status)))
        let errors: [KeychainError.Operation: KeychainError?] = [
            .load: failure { _ = try keychain.load(.token) },
            .save: failure { try keychain.save("x", for: .token) },
            .delete: failure { try keychain.delete(.token) },
            .update: failure { try keychain.update(.token) { $0 = "x" } },
            .list: failure { _ = try keychain.item(.token) },
        ]
        for (operation, error) in errors {
            let error = try #require(error)
            #expect(error.code == row.code)
            #expect(error.code.rawValue == row.status.rawValue)
            #expect(error.operation == operation)
            #expect(error.service == "s")
            #expect(error.account == "token")
            #expect(error.errorDescription?.contains("\(row.status.rawValue)") == true)
        }
        let all = try #require(failure { try keychain.removeAll() })
        #expect(all.code == row.code)
        #expect(all.account == nil)
        #expect(row.code.isUnexpected == (row.status.rawValue == -25_257))
    }

    @Test(arguments: Way.allCases)
    func `saving an item that can be neither added nor changed fails after some attempts`(way: Way)
        throws
    {
        struct Contradiction: RequestHandler {
            func perform<R: Request>(
                _ request: R, as caller: AccessGroups
            ) throws(KeychainFailure) -> R.Answer {
                throw R.code == .add ? .duplicateItem : .itemNotFound
            }
        }
        let keychain = Keychain(
            service: "s", in: way.database(Contradiction()))
        #expect(failure { try keychain.save("x", for: .token) }?.code == .duplicateItem)
        #expect(failure { try keychain.update(.token) { $0 = "x" } }?.code == .duplicateItem)
        #expect(
            failure { _ = try keychain.load(.token, orAdd: { "x" }) }?.code == .duplicateItem)
    }

    @Test(arguments: Way.allCases)
    func `stored bytes that don't fit the type are in the error and remain in the keychain`(
        way: Way
    ) throws {
        let keychain = try TestDatabase(way).keychain()
        let bytes = Data([0xFF, 0xFE, 0x00])
        try keychain.save(bytes, for: KeychainKey("x"))
        let before = try keychain.item(.account("x"))
        let rows: [(KeychainError?, KeychainError.Code)] = [
            (failure { _ = try keychain.load(KeychainKey<String>("x")) }, .dataConversionFailed),
            (failure { _ = try keychain.load(KeychainKey<UUID>("x")) }, .invalidData),
            (failure { _ = try keychain.load(KeychainKey<DeviceState>("x")) }, .decodingFailed),
            (failure { _ = try keychain.load(KeychainKey<Int>("x")) }, .decodingFailed),
            (failure { _ = try keychain.load(KeychainKey<PairingCode>("x")) }, .decodingFailed),
            (
                failure { _ = try keychain.load(KeychainKey<P256.Signing.PrivateKey>("x")) },
                .invalidData
            ),
            (
                failure { _ = try keychain.load(KeychainKey<P256.KeyAgreement.PrivateKey>("x")) },
                .invalidData
            ),
            (
                failure { _ = try keychain.load(KeychainKey<P384.Signing.PrivateKey>("x")) },
                .invalidData
            ),
            (
                failure { _ = try keychain.load(KeychainKey<P384.KeyAgreement.PrivateKey>("x")) },
                .invalidData
            ),
            (
                failure { _ = try keychain.load(KeychainKey<P521.Signing.PrivateKey>("x")) },
                .invalidData
            ),
            (
                failure { _ = try keychain.load(KeychainKey<P521.KeyAgreement.PrivateKey>("x")) },
                .invalidData
            ),
            (
                failure { _ = try keychain.load(KeychainKey<Curve25519.Signing.PrivateKey>("x")) },
                .invalidData
            ),
            (
                failure {
                    _ = try keychain.load(KeychainKey<Curve25519.KeyAgreement.PrivateKey>("x"))
                }, .invalidData
            ),
            (failure { _ = try keychain.load(.sized) }, .invalidData),
            (failure { _ = try keychain.load(.secondsSince1970) }, .decodingFailed),
            (
                failure { _ = try keychain.load(KeychainKey<UUID>("x"), orAdd: { UUID() }) },
                .invalidData
            ),
            (
                failure {
                    try keychain.update(KeychainKey<String>("x")) { $0 = "replaced" }
                }, .dataConversionFailed
            ),
            (
                failure {
                    try keychain.compareExchange(
                        expected: nil, desired: "replaced", for: KeychainKey<String>("x"))
                }, .dataConversionFailed
            ),
        ]
        for (error, code) in rows {
            #expect(error?.code == code)
            #expect(error?.storedData == bytes)
            #expect(error?.service == "com.example.app")
            #expect(error?.account == "x")
        }
        #expect(try keychain.load(KeychainKey<Data>("x")) == bytes)
        #expect(try keychain.item(.account("x")) == before)
    }

    @Test
    func `an error thrown by a custom coder is the underlying error`() throws {
        let keychain = try TestDatabase(.typed).keychain()
        try keychain.save("12345", for: KeychainKey("code"))
        let loading = failure { _ = try keychain.load(KeychainKey<PairingCode>("code")) }
        #expect(loading?.underlyingError is PairingCode.BadLength)
        let saving = failure {
            try keychain.save(PairingCode(digits: []), for: KeychainKey("code"))
        }
        #expect(saving?.code == .encodingFailed)
        #expect(saving?.operation == .save)
        #expect(saving?.underlyingError is PairingCode.BadLength)
        #expect(saving?.storedData == nil)
        #expect(try keychain.load(KeychainKey<String>("code")) == "12345")
    }

    static let causes: [(KeychainFailure.Cause, KeychainError.Cause)] = [
        (.damage, .damage), (.permission, .permission), (.contention, .contention),
        (.interruption, .interruption), (.otherMachine, .otherMachine),
        (.other, .other),
    ]

    @Test(arguments: Way.allCases, causes)
    func `the different causes behind one status can be distinguished`(
        way: Way, row: (reported: KeychainFailure.Cause, cause: KeychainError.Cause)
    ) throws {
        let service = FailingService(status: .notAvailable, cause: row.reported)
        let keychain = Keychain(service: "s", in: way.database(service))
        let errors = [
            failure { _ = try keychain.load(.token) },
            failure { try keychain.save("x", for: .token) },
            failure { try keychain.delete(.token) },
            failure { try keychain.update(.token) { $0 = "x" } },
            failure { _ = try keychain.item(.token) },
            failure { _ = try keychain.items() },
            failure { try keychain.removeAll() },
        ]
        for error in errors {
            #expect(error?.code == .notAvailable)
            #expect(error?.cause == row.cause)
            #expect(error?.failureReason == "A reason.")
        }
        let suggestions = Set(errors.map { $0?.recoverySuggestion })
        #expect(suggestions.count == 1)
        #expect(suggestions.first??.isEmpty == false)
    }

    @Test(
        arguments: [
            (KeychainError.Code.decode, KeychainError.Cause.damage), (.invalidKeychain, .damage),
            (.missingEntitlement, .permission), (.notAvailable, .other),
            (.interactionNotAllowed, .other),
        ])
    func `an error's cause follows from its code unless another cause is set`(
        code: KeychainError.Code, cause: KeychainError.Cause
    ) {
        #expect(KeychainError(code).cause == cause)
        var error = KeychainError(code)
        error.cause = .contention
        #expect(error.cause == .contention)
    }

    @Test(
        arguments: [
            (KeychainError.Code.interactionNotAllowed, KeychainError.Cause.other, "ask the user"),
            (.notAvailable, .other, "hardware"), (.notAvailable, .damage, "Check the keychain."),
            (.notAvailable, .permission, "password of the TPM"),
            (.decode, .otherMachine, "original machine"), (.authFailed, .other, "or password"),
            (.notAvailable, .interruption, "Check whether the change was made"),
            (.diskFull, .interruption, "Check whether the change was made"),
        ])
    func `an error's recovery suggestion suits its code and its cause`(
        code: KeychainError.Code, cause: KeychainError.Cause, remedy: String
    ) {
        var error = KeychainError(code)
        error.cause = cause
        #expect(error.recoverySuggestion?.contains(remedy) == true)
    }

    @Test
    func `a program that may not administer the keychain isn't told to add an access group`() {
        func remedy(_ operation: KeychainError.Operation) -> String {
            KeychainError(.missingEntitlement, operation: operation).recoverySuggestion ?? ""
        }
        #expect(remedy(.load).contains("access group"))
        #expect(remedy(.administer).contains("keychainctl"))
        #expect(!remedy(.administer).contains("access group"))
    }

    @Test(arguments: Way.allCases)
    func `a symmetric key without the required size is not saved`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let key = SymmetricKey(size: .bits256)
        try keychain.save(key, for: .sized)
        let error = failure { try keychain.save(SymmetricKey(size: .bits128), for: .sized) }
        #expect(error?.code == .invalidKey)
        #expect(error?.operation == .save)
        #expect(error?.account == "x")
        #expect(error?.storedData == nil)
        #expect(try keychain.load(.sized) == key)
    }

    @Test
    func `an empty symmetric key is neither saved nor loaded`() throws {
        let keychain = try TestDatabase(.typed).keychain()
        let key = KeychainKey<SymmetricKey>("key")
        #expect(
            failure { try keychain.save(SymmetricKey(data: Data()), for: key) }?.code
                == .invalidKey)
        #expect(try keychain.load(key) == nil)
        try keychain.save(Data(), for: KeychainKey("key"))
        #expect(failure { _ = try keychain.load(key) }?.code == .invalidData)
    }

    @Test
    func `a value that can't be encoded as JSON is not saved`() throws {
        let keychain = try TestDatabase(.typed).keychain()
        let error = failure { try keychain.save([Double.infinity], for: KeychainKey("x")) }
        #expect(error?.code == .encodingFailed)
        #expect(error?.underlyingError is EncodingError)
        #expect(try !keychain.exists(.account("x")))
    }

    @Test
    func `errors are matched by their code`() throws {
        let locked = KeychainError(.interactionNotAllowed, operation: .load)
        func caught(_ error: any Error) -> String {
            do {
                throw error
            } catch KeychainError.Code.interactionNotAllowed {
                return "by code"
            } catch let error as KeychainError where error.code == .decodingFailed {
                return "by clause"
            } catch {
                return "other"
            }
        }
        #expect(caught(locked) == "by code")
        #expect(caught(KeychainError(.decodingFailed)) == "by clause")
        #expect(caught(KeychainError(.decode)) == "other")
        #expect(caught(CancellationError()) == "other")
    }

    /// The compiler checks the type of the thrown errors.
    @Test(arguments: Way.allCases)
    func `a blocking operation throws a KeychainError and nothing else`(way: Way) throws {
        let test = try TestDatabase(way)
        let keychain = test.keychain(group: "group.foreign")
        let source = test.keychain("source")
        let identity = DeviceIdentity(
            service: "s", accessGroup: "group.foreign", in: test.database)
        func refusal(_ operation: () throws(KeychainError) -> Void) -> KeychainError.Code? {
            do {
                try operation()
                return nil
            } catch {
                return error.code
            }
        }
        let refusals = [
            refusal { () throws(KeychainError) in try keychain.save("x", for: .token) },
            refusal { () throws(KeychainError) in try keychain.add("x", for: .token) },
            refusal { () throws(KeychainError) in _ = try keychain.load(.token) },
            refusal { () throws(KeychainError) in try keychain.delete(.token) },
            refusal { () throws(KeychainError) in _ = try keychain.exists(.token) },
            refusal { () throws(KeychainError) in _ = try keychain.item(.token) },
            refusal { () throws(KeychainError) in _ = try keychain.items() },
            refusal { () throws(KeychainError) in try keychain.removeAll() },
            refusal { () throws(KeychainError) in
                try keychain.compareExchange(expected: nil, desired: "x", for: .token)
            },
            refusal { () throws(KeychainError) in try source.migrate(.token, from: keychain) },
            refusal { () throws(KeychainError) in _ = try source.migrateAll(from: keychain) },
            refusal { () throws(KeychainError) in _ = try identity.identifier() },
            refusal { () throws(KeychainError) in _ = try identity.existing(as: UUID.self) },
            refusal { () throws(KeychainError) in try identity.import(UUID()) },
            refusal { () throws(KeychainError) in try identity.reset() },
        ]
        #expect(refusals == Array(repeating: .missingEntitlement, count: refusals.count))
        #if !canImport(Darwin)
        do {
            try test.database.unlock(passcode: "wrong")
            Issue.record("The unlock succeeded.")
        } catch {
            #expect(error.code == .param)
        }
        #endif
    }

    @Test
    func `a printed error contains no value or name`() throws {
        let keychain = try TestDatabase(.typed).keychain("SERVICE-7")
        let values = [
            #"{"deviceID":"d","level":"SECRET-7"}"#, #"{"SECRET-7":1,"deviceID":[]}"#,
            "SECRET-7",
        ]
        var errors: [KeychainError] = []
        for value in values {
            try keychain.save(value, for: KeychainKey("ACCOUNT-7"))
            let error = try #require(
                failure { _ = try keychain.load(KeychainKey<DeviceState>("ACCOUNT-7")) })
            #expect(error.storedData == Data(value.utf8))
            errors.append(error)
        }
        // The error of `JSONDecoder` quotes a number that is out of range, and the number's key.
        try keychain.save(#"{"SECRET-7":77777}"#, for: KeychainKey("ACCOUNT-7"))
        errors.append(
            try #require(
                failure { _ = try keychain.load(KeychainKey<[String: Int8]>("ACCOUNT-7")) }))
        for error in errors {
            #expect(error.underlyingError != nil)
            #expect("\(error)".contains(". "))
            // The coder's original error may quote the value. None of these texts may quote it.
            var texts = [
                "\(error)", String(reflecting: error), error.localizedDescription,
                error.failureReason ?? "", error.recoverySuggestion ?? "",
                String(reflecting: error.underlyingError as Any),
                "\(error as NSError)",
            ]
            var dumped = ""
            dump(error, to: &dumped)
            texts.append(dumped)
            for text in texts {
                #expect(!text.contains("SECRET-7"))
                #expect(!text.contains("77777"))
                #expect(!text.contains("ACCOUNT-7"))
                #expect(!text.contains("SERVICE-7"))
            }
        }
        let encoding = failure {
            try keychain.save(["SECRET-7": Double.nan], for: KeychainKey("ACCOUNT-7"))
        }
        let cause = try #require(encoding?.underlyingError)
        #expect(!String(reflecting: cause).contains("SECRET-7"))
    }

    @Test(arguments: KeychainError.Code.names.keys.sorted { $0.rawValue < $1.rawValue })
    func `every named code has a description for users`(code: KeychainError.Code) {
        let error = KeychainError(code, operation: .load)
        let sentence = error.errorDescription ?? ""
        #expect(sentence.hasPrefix("The secret could not be loaded: "))
        #expect(sentence.contains("(\(code.rawValue)). "))
        #expect(!sentence.contains("unexpected status"))
        #expect(!code.isUnexpected)
        #expect(error.description.hasPrefix("KeychainError: load: \(code): "))
    }

    @Test(arguments: KeychainError.Code.names.keys.sorted { $0.rawValue < $1.rawValue })
    func `a printed error contains the reason and the remedy`(code: KeychainError.Code) throws {
        var error = KeychainError(code, operation: .load)
        let remedy = try #require(error.recoverySuggestion)
        let texts = ["\(error)", String(reflecting: error), error.localizedDescription]
        for text in texts {
            #expect(text.hasSuffix(". " + remedy))
        }
        error.detail = "The keychain's own reason."
        for text in ["\(error)", error.localizedDescription] {
            #expect(text.hasSuffix(". The keychain's own reason. " + remedy))
        }
        error.detail = "The keychain's own reason. And its remedy."
        for text in ["\(error)", error.localizedDescription] {
            #expect(text.hasSuffix(". The keychain's own reason. And its remedy."))
        }
    }

    @Test func `a printed error says what is damaged and how to repair it`() throws {
        let service = FailingService(
            failure: .damagedStore("the database's structure is broken"))
        let keychain = Keychain(service: "s", in: Way.typed.database(service))
        let error = try #require(failure { _ = try keychain.load(.token) })
        let text = """
            KeychainError: load: notAvailable (-25291): the keychain is not available. The \
            keychain is damaged: the database's structure is broken. Nothing was changed. Run \
            `keychainctl recover`: it rebuilds the keychain from all undamaged items and keeps the \
            damaged file.
            """
        #expect("\(error)" == text)
    }

    @Test func `an error about a locked item names its protection class in words`() throws {
        for protection in ProtectionClass.allCases {
            let reason = KeychainFailure.locked(protection).reason
            #expect(reason.contains(protection.words))
            #expect(!reason.split { !$0.isLetter }.contains { $0 == protection.code })
        }
        #expect(Set(ProtectionClass.allCases.map(\.words)).count == 7)
    }

    @Test(arguments: [KeychainError.Code.invalidData, .decodingFailed, .dataConversionFailed])
    func `the recovery suggestion mentions a stored value only if the error has one`(
        code: KeychainError.Code
    ) {
        var error = KeychainError(code, operation: .save)
        #expect(error.recoverySuggestion == "Use data in the required format.")
        error.storedData = Data()
        #expect(error.recoverySuggestion?.hasSuffix("It is still in the keychain.") == true)
    }

    @Test
    func `an unknown code has a description too`() {
        let error = KeychainError(KeychainError.Code(rawValue: -1))
        #expect(
            error.errorDescription
                == "The operation on the keychain failed: "
                + "the keychain reported an unexpected status (-1)."
        )
        #expect(
            error.description
                == "KeychainError: unexpected (-1): the keychain reported an unexpected status.")
        #expect(error.code.isUnexpected)
    }
}
