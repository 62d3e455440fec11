// Request: an operation on a keychain, as a value. The type of the request determines the type of
// the answer.
//   (1) An operation has a struct, a code, a coding, an overload of `RequestExecutor`, and a case
//       in every switch over the codes. If one of these is missing, the code doesn't compile.
//   (2) A request that fails has changed nothing, unless the cause of the failure is
//       `interruption`.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// A request to a keychain. It is a value, which can be stored, sent and performed again.
package protocol Request: MessageCodable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    associatedtype Answer: MessageCodable & Sendable

    /// The code of the operation in messages and logs.
    static var code: RequestCode { get }

    /// The proofs that the caller presents. A request that neither opens nor seals a secret has
    /// none, and ignores any that are set.
    var authorization: Authorization { get set }

    /// The purpose of the authorization; `nil` if the request needs none.
    var purpose: AuthorizationPurpose? { get }

    /// Whether the request contains an application password, from which keys are derived.
    var showsPassword: Bool { get }

    /// The class and the names of the attributes in the request, for logs. It contains no value of
    /// an attribute. `nil` if the request is not about items.
    var shape: String? { get }

    /// The maximum amount of work for the request.
    var effort: RequestEffort { get }

    /// Whether the request used, or may have used, keys that a lock erases, as far as its answer
    /// shows. If so, a service that locks unused keychains starts to measure the idle time anew.
    func usedUnlockedKeys(_ answer: Answer) -> Bool

    /// Calls the executor's overload for this request.
    func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Answer
}

/// The purpose of a request's authorization.
package enum AuthorizationPurpose: Hashable, Sendable {
    /// To open an item or use a hardware key.
    case use
    /// To encrypt an item that is added, or to create a hardware key.
    case creation
    /// To open an item and to encrypt it under an application password.
    case both
}

/// The maximum amount of work for a request.
package enum RequestEffort: Hashable, Sendable {
    /// A few items.
    case few
    /// Deriving a key from a passcode or password, which is slow by design.
    case derivation
    /// All items of the keychain.
    case survey
}

extension Request {
    package var shape: String? { nil }

    /// The operation and its ``shape``. It contains no secret and no value of an attribute.
    package var description: String {
        [Self.code.name, shape].compactMap { $0 }.joined(separator: " ")
    }
    package var debugDescription: String { description }

    /// `derivation` if the request contains a password, otherwise `few`.
    package var effort: RequestEffort { showsPassword ? .derivation : .few }

    package func usedUnlockedKeys(_ answer: Answer) -> Bool { false }

    package var showsPassword: Bool { authorization.applicationPassword != nil }
}

/// A request that neither opens nor seals the secret of an item.
package protocol UnauthorizedRequest: Request {}

extension UnauthorizedRequest {
    package var authorization: Authorization {
        get { Authorization() }
        set {}
    }
    package var purpose: AuthorizationPurpose? { nil }
    package var showsPassword: Bool { false }
}

/// A request about the keychain as a whole. Its answer doesn't depend on the caller's access
/// groups.
package protocol GeneralRequest: UnauthorizedRequest {}

/// A request that takes long. It reports its progress and can be canceled.
package protocol StreamRequest: GeneralRequest {
    /// Calls the executor's overload for this request.
    ///
    /// `progress` is called from time to time. If it returns `false` before the work is done, the
    /// request fails with `userCanceled`.
    func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> Answer
}

extension StreamRequest {
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Answer {
        try execute(on: executor, as: caller) { _ in true }
    }
}

/// The progress of a request.
package struct RequestProgress: Hashable, Sendable {
    /// The number of items processed so far; ``total`` is the number of all items.
    package var done: Int
    package var total: Int

    package init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }
}

/// The operations. Every switch over them lists all cases, so that none is forgotten. The numbers
/// are those of the protocol, and a number is never reused for another operation.
package enum RequestCode: UInt8, CaseIterable, Hashable, Sendable {
    case add = 1
    case addAll = 2
    case find = 3
    case update = 4
    case put = 5
    case delete = 6
    case findVersions = 7
    case restoreVersion = 8
    case purgeVersions = 9

    case findIdentities = 10
    case updateIdentities = 11
    case deleteIdentities = 12

    case authenticate = 20
    case hasPasscode = 21
    case hasSecureEnclave = 22
    case makeSecureEnclaveKey = 23
    case sign = 24
    case sharedSecret = 25
    case acceptsGrant = 26

    case unlock = 30
    case lock = 31
    case lockAll = 32
    case setPasscode = 33
    case changePasscode = 34
    case removePasscode = 35
    case status = 36
    case check = 37
    case unlockWith = 38
    case slots = 39
    case changeSlots = 40
    case rotate = 41
    case statistics = 42
    case setHistory = 43
    case synchronize = 44

    /// The name of the operation in logs.
    package var name: String { Self.names[Int(rawValue)] }

    /// The names by raw value. Describing a case takes far longer than looking up its name.
    private static let names = (0...UInt8.max).map { value in
        RequestCode(rawValue: value).map { String(describing: $0) } ?? ""
    }

    /// Whether the operation is about the keychain as a whole and requires permission to administer
    /// it.
    package var isAdministration: Bool { rawValue >= Self.unlock.rawValue }

    /// Whether the operation leaves the keychain's items, settings, keys and lock state unchanged,
    /// so that a client whose connection was lost can repeat it. This includes the creation of a
    /// hardware key, which the keychain doesn't store.
    package var isRead: Bool {
        switch self {
        case .find, .findVersions, .findIdentities, .hasPasscode, .hasSecureEnclave,
            .makeSecureEnclaveKey, .sign, .sharedSecret, .acceptsGrant, .status, .check, .slots,
            .statistics:
            true
        case .add, .addAll, .update, .put, .delete, .updateIdentities, .deleteIdentities,
            .restoreVersion, .purgeVersions, .authenticate, .unlock, .lock, .lockAll, .setPasscode,
            .changePasscode, .removePasscode, .unlockWith, .changeSlots, .rotate, .setHistory,
            .synchronize:
            false
        }
    }
}

/// An executor has an overload for each request.
package protocol RequestExecutor {
    func execute(_ request: AddItem, as caller: AccessGroups) throws(KeychainFailure)
        -> ItemSnapshot
    func execute(_ request: AddItems, as caller: AccessGroups) throws(KeychainFailure)
        -> [ItemSnapshot]
    func execute(_ request: FindItems, as caller: AccessGroups) throws(KeychainFailure)
        -> [ItemSnapshot]
    func execute(_ request: UpdateItems, as caller: AccessGroups) throws(KeychainFailure) -> Int
    func execute(_ request: PutItem, as caller: AccessGroups) throws(KeychainFailure) -> Done
    func execute(_ request: DeleteItems, as caller: AccessGroups) throws(KeychainFailure) -> Int

    func execute(
        _ request: FindVersions, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemVersion]
    func execute(
        _ request: RestoreVersion, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot
    func execute(_ request: PurgeVersions, as caller: AccessGroups) throws(KeychainFailure) -> Int

    func execute(
        _ request: FindIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity]
    func execute(
        _ request: UpdateIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int
    func execute(
        _ request: DeleteIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int

    func execute(
        _ request: Authenticate, as caller: AccessGroups
    ) throws(KeychainFailure) -> AuthenticationGrant
    func execute(_ request: AcceptsGrant, as caller: AccessGroups) throws(KeychainFailure) -> Bool
    func execute(_ request: HasPasscode, as caller: AccessGroups) throws(KeychainFailure) -> Bool
    func execute(
        _ request: HasSecureEnclave, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool
    func execute(
        _ request: MakeSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> MadeSecureEnclaveKey
    func execute(_ request: SignDigest, as caller: AccessGroups) throws(KeychainFailure) -> Data
    func execute(
        _ request: DeriveSharedSecret, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecretBytes

    func execute(_ request: Unlock, as caller: AccessGroups) throws(KeychainFailure) -> Done
    func execute(_ request: Lock, as caller: AccessGroups) throws(KeychainFailure) -> Done
    func execute(_ request: LockAll, as caller: AccessGroups) throws(KeychainFailure) -> Done
    func execute(
        _ request: SetPasscode, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary]
    func execute(
        _ request: ChangePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done
    func execute(
        _ request: RemovePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int
    func execute(_ request: UnlockWith, as caller: AccessGroups) throws(KeychainFailure) -> Done
    func execute(
        _ request: ListSlots, as caller: AccessGroups
    ) throws(KeychainFailure) -> [SlotSummary]
    func execute(_ request: ChangeSlots, as caller: AccessGroups) throws(KeychainFailure) -> Done
    func execute(
        _ request: ReadStatus, as caller: AccessGroups
    ) throws(KeychainFailure) -> KeychainStatus
    func execute(
        _ request: ReadStatistics, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceStatistics
    func execute(
        _ request: SetHistory, as caller: AccessGroups
    ) throws(KeychainFailure) -> HistoryPolicy
    func execute(
        _ request: Synchronize, as caller: AccessGroups
    ) throws(KeychainFailure) -> Synchronize.Answer
    func execute(
        _ request: RotateKeys, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary]
    func execute(
        _ request: CheckKeychain, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport
}

/// The answer of a request that returns no value.
package struct Done: Hashable, Sendable {
    package init() {}
}
