// PeerSession+Requests: decodes messages of a client, carries them out, and encodes the answers as
// frames.

import KeychainEngine
import KeychainCore
import KeychainWire

/// A client's message, decoded and ready to be carried out.
struct ReceivedMessage: Sendable {
    let work: Work
    private let answer: @Sendable (PeerSession) throws(KeychainFailure) -> [FrameBuffer]
    /// Answers the message if it doesn't have to wait. `nil` for messages that are never answered
    /// this way.
    private var answerAtOnce: (@Sendable (PeerSession) -> [FrameBuffer]?)?

    private init(
        _ work: Work = .ordinary,
        _ answer: @escaping @Sendable (PeerSession) throws(KeychainFailure) -> [FrameBuffer]
    ) {
        self.work = work
        self.answer = answer
    }

    /// Carries the message out, and returns the frames of the answer.
    /// - Throws: `param` if the connection has to be closed because of the message.
    func answer(in session: PeerSession) throws(KeychainFailure) -> [FrameBuffer] {
        try answer(session)
    }

    /// Carries the message out if it doesn't have to wait, see
    /// ``PeerSession/answerAtOnce(_:_:id:)``.
    /// - Returns: The frames of the answer; `nil` if the message wasn't carried out.
    func answerAtOnce(in session: PeerSession) -> [FrameBuffer]? { answerAtOnce?(session) }

    // MARK: Reading

    /// Decodes the message in a frame if ``answerAtOnce(in:)`` may be able to answer it. Returns
    /// `nil` for any other message.
    static func lookUp(in frame: FrameBuffer) -> ReceivedMessage? {
        let message = try? frame.read(elementLimit: WireLimits.elementCount) {
            reader throws(KeychainFailure) -> ReceivedMessage? in
            let id = try ClientMessage.id(from: &reader)
            guard case .request(.find, let claim) = try ClientMessage(from: &reader) else {
                return nil
            }
            return try readFind(&reader, claim, id)
        }
        guard let message = message ?? nil, message.answerAtOnce != nil else { return nil }
        return message
    }

    /// Decodes the message in a frame. If the content of the message can't be decoded, the client
    /// receives the reason as the answer.
    /// - Throws: `param` if the bytes aren't a message at all. The connection then has to be
    ///   closed.
    init(_ frame: FrameBuffer) throws(KeychainFailure) {
        self = try frame.read(elementLimit: WireLimits.elementCount) {
            reader throws(KeychainFailure) -> ReceivedMessage in
            let id = try ClientMessage.id(from: &reader)
            do throws(KeychainFailure) {
                return try Self.read(&reader, id: id)
            } catch {
                let failure = error
                return ReceivedMessage { session throws(KeychainFailure) in
                    try session.answerUnreadable(id, failure)
                }
            }
        }
    }

    private static func read(
        _ reader: inout MessageReader, id: UInt64
    ) throws(KeychainFailure) -> ReceivedMessage {
        switch try ClientMessage(from: &reader) {
        case .hello(let hello):
            return ReceivedMessage { session throws(KeychainFailure) in
                try session.greet(hello, id: id)
            }
        case .subscribe:
            return ReceivedMessage { session throws(KeychainFailure) in
                try session.logged(id, "subscribe") { () throws(KeychainFailure) in
                    try session.subscribe(id)
                    return Done()
                }
            }
        case .unsubscribe(let subscription):
            return ReceivedMessage { session throws(KeychainFailure) in
                try session.logged(id, "unsubscribe") { () throws(KeychainFailure) in
                    session.unsubscribe(subscription)
                    return Done()
                }
            }
        case .request(let code, let claim): return try read(code, &reader, claim, id)
        }
    }

    private static func read(
        _ code: RequestCode, _ reader: inout MessageReader, _ claim: AccessGroups, _ id: UInt64
    ) throws(KeychainFailure) -> ReceivedMessage {
        switch code {
        case .add: try read(AddItem.self, &reader, claim, id)
        case .addAll: try read(AddItems.self, &reader, claim, id)
        case .find: try readFind(&reader, claim, id)
        case .update: try read(UpdateItems.self, &reader, claim, id)
        case .put: try read(PutItem.self, &reader, claim, id)
        case .delete: try read(DeleteItems.self, &reader, claim, id)
        case .findVersions: try read(FindVersions.self, &reader, claim, id)
        case .restoreVersion: try read(RestoreVersion.self, &reader, claim, id)
        case .purgeVersions: try read(PurgeVersions.self, &reader, claim, id)
        case .findIdentities: try read(FindIdentities.self, &reader, claim, id)
        case .updateIdentities: try read(UpdateIdentities.self, &reader, claim, id)
        case .deleteIdentities: try read(DeleteIdentities.self, &reader, claim, id)
        case .authenticate: try read(Authenticate.self, &reader, claim, id)
        case .hasPasscode: try read(HasPasscode.self, &reader, claim, id)
        case .hasSecureEnclave: try read(HasSecureEnclave.self, &reader, claim, id)
        case .makeSecureEnclaveKey: try read(MakeSecureEnclaveKey.self, &reader, claim, id)
        case .sign: try read(SignDigest.self, &reader, claim, id)
        case .sharedSecret: try read(DeriveSharedSecret.self, &reader, claim, id)
        case .acceptsGrant: try read(AcceptsGrant.self, &reader, claim, id)
        case .unlock: try read(Unlock.self, &reader, claim, id)
        case .lock: try read(Lock.self, &reader, claim, id)
        case .lockAll: try read(LockAll.self, &reader, claim, id)
        case .setPasscode: try readStream(SetPasscode.self, &reader, claim, id)
        case .changePasscode: try read(ChangePasscode.self, &reader, claim, id)
        case .removePasscode: try read(RemovePasscode.self, &reader, claim, id)
        case .status: try read(ReadStatus.self, &reader, claim, id)
        case .statistics: try readStatistics(&reader, id)
        case .unlockWith: try read(UnlockWith.self, &reader, claim, id)
        case .slots: try read(ListSlots.self, &reader, claim, id)
        case .changeSlots: try read(ChangeSlots.self, &reader, claim, id)
        case .setHistory: try read(SetHistory.self, &reader, claim, id)
        case .synchronize: try read(Synchronize.self, &reader, claim, id)
        case .rotate: try readStream(RotateKeys.self, &reader, claim, id)
        case .check: try readStream(CheckKeychain.self, &reader, claim, id)
        }
    }

    private static func read<R: Request>(
        _ type: R.Type, _ reader: inout MessageReader, _ claim: AccessGroups, _ id: UInt64
    ) throws(KeychainFailure) -> ReceivedMessage {
        message(of: try reader.whole() as R, claim, id)
    }

    private static func message<R: Request>(
        of request: R, _ claim: AccessGroups, _ id: UInt64
    ) -> ReceivedMessage {
        ReceivedMessage(request.showsPassword ? .derivation : R.code.work) {
            session throws(KeychainFailure) in
            try session.answer(request, claim, id: id) { engine, caller throws(KeychainFailure) in
                try engine.perform(request, as: caller)
            }
        }
    }

    private static func readFind(
        _ reader: inout MessageReader, _ claim: AccessGroups, _ id: UInt64
    ) throws(KeychainFailure) -> ReceivedMessage {
        let request: FindItems = try reader.whole()
        var message = message(of: request, claim, id)
        if message.work == .ordinary, request.isForOneSecret {
            message.answerAtOnce = { $0.answerAtOnce(request, claim, id: id) }
        }
        return message
    }

    private static func readStatistics(
        _ reader: inout MessageReader, _ id: UInt64
    ) throws(KeychainFailure) -> ReceivedMessage {
        let _: ReadStatistics = try reader.whole()
        return ReceivedMessage { session throws(KeychainFailure) in
            try session.logged(id, RequestCode.statistics.name) { () throws(KeychainFailure) in
                try session.checkAdministration()
                return session.keychain.statistics
            }
        }
    }

    private static func readStream<R: StreamRequest>(
        _ type: R.Type, _ reader: inout MessageReader, _ claim: AccessGroups, _ id: UInt64
    ) throws(KeychainFailure) -> ReceivedMessage {
        let request: R = try reader.whole()
        return ReceivedMessage(R.code.work) {
            session throws(KeychainFailure) in
            try session.answer(request, claim, id: id) { engine, caller throws(KeychainFailure) in
                var last = ContinuousClock.now
                return try engine.stream(request, as: caller) { progress in
                    if last.duration(to: .now) > .milliseconds(100) {
                        last = .now
                        session.tell(ServiceMessage.frame(id: id, progress), of: id)
                    }
                    return !session.isEnded
                }
            }
        }
    }
}

extension PeerSession {
    /// Carries out a request with the access groups that the client claims and is entitled to.
    func answer<R: Request>(
        _ request: R, _ claim: AccessGroups, id: UInt64,
        _ body: (KeychainEngine, AccessGroups) throws(KeychainFailure) -> R.Answer
    ) throws(KeychainFailure) -> [FrameBuffer] {
        let limit = R.code.isRead ? answerByteCount : .max
        return try logged(id, R.code.name, request.shape, AuditRule(R.code), limit: limit) {
            () throws(KeychainFailure) in
            if R.code.isAdministration { try checkAdministration() }
            let answer = try body(try keychain.engine(), try caller(claim))
            if request.usedUnlockedKeys(answer) { keychain.noteUse() }
            return answer
        }
    }
}
