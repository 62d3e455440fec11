// Request: one thing that can be asked of a keychain, as a value with the type of its answer.
//   (1) An operation is declared in five places, and the compiler finds each that is missing: its
//       struct, its code, its coding, an overload of `RequestExecutor`, and the service's switch
//       over the codes.
//   (2) A request whose answer is an error has changed nothing, but where the cause is
//       `interruption`.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// What can be asked of a keychain. It is a value: it can be kept, sent and asked again.
package protocol Request: MessageCodable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    associatedtype Answer: MessageCodable & Sendable

    /// What stands for the operation in messages and logs.
    static var code: RequestCode { get }

    /// What the caller can show for itself. A request that neither opens nor seals a secret has
    /// none, and ignores one that is set.
    var authorization: Authorization { get set }

    /// What the authorization is used for. nil: the request needs none.
    var purpose: AuthorizationPurpose? { get }

    /// Whether keys are derived from a password of the caller.
    var showsPassword: Bool { get }

    /// Class and names of the attributes that the request is about, for logs. No value of an
    /// attribute is in it. nil: it is about no items.
    var shape: String? { get }

    /// The longest that the request may take.
    var effort: RequestEffort { get }

    /// Whether it was carried out with keys that a lock takes away: the keychain is in use.
    func usedUnlockedKeys(_ answer: Answer) -> Bool

    /// Calls the overload of the executor for this request.
    func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Answer
}

/// What the authorization of a request is used for.
package enum AuthorizationPurpose: Hashable, Sendable {
    /// To open an item.
    case use
    /// To encrypt one that is added, or gets a password now.
    case creation
    case both
}

/// How much work a request is, at the most.
package enum RequestEffort: Hashable, Sendable {
    /// A few items.
    case few
    /// Deriving a key from a passcode or a password, which is slow on purpose.
    case derivation
    /// Every item of the keychain.
    case survey
}

extension Request {
    package var shape: String? { nil }

    /// The operation and what it is about. No value of an attribute and no secret is in it.
    package var description: String {
        [Self.code.name, shape].compactMap { $0 }.joined(separator: " ")
    }
    package var debugDescription: String { description }

    /// By whether a password is among what is shown.
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

/// A request about the keychain as a whole, whose answer is the same for every caller.
package protocol GeneralRequest: UnauthorizedRequest {}

/// A request whose answer takes long: it tells how far it is, and can be given up.
package protocol StreamRequest: GeneralRequest {
    /// Calls the overload of the executor for this request.
    ///
    /// `progress` is called now and then; the request ends with `userCanceled` where it returns
    /// false.
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

/// How far a request is.
package struct RequestProgress: Hashable, Sendable {
    /// Items that are done, and all of them.
    package var done: Int
    package var total: Int

    package init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }
}

/// The operations, closed: every switch over them names each one. The numbers are those of the
/// protocol, and none is used for another operation later.
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

    /// The name of the operation in logs.
    package var name: String { String(describing: self) }

    /// Whether it is about the keychain as a whole, which not every program may ask for.
    package var isAdministration: Bool { rawValue >= Self.unlock.rawValue }

    /// Whether it changes nothing that is kept, so that a client whose connection broke may ask
    /// again. A key that hardware makes is not kept.
    package var isRead: Bool {
        switch self {
        case .find, .findVersions, .findIdentities, .hasPasscode, .hasSecureEnclave,
            .makeSecureEnclaveKey, .sign,
            .sharedSecret, .status, .check, .slots, .statistics:
            true
        case .add, .addAll, .update, .put, .delete, .updateIdentities, .deleteIdentities,
            .restoreVersion, .purgeVersions, .authenticate, .unlock, .lock, .lockAll, .setPasscode,
            .changePasscode, .removePasscode, .unlockWith, .changeSlots, .rotate, .setHistory:
            false
        }
    }
}

/// Whatever carries out requests has an overload for each.
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
        _ request: RotateKeys, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary]
    func execute(
        _ request: CheckKeychain, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport
}

/// The answer of a request that gives nothing back but that it was carried out.
package struct Done: Hashable, Sendable {
    package init() {}
}
