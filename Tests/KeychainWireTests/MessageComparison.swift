// MessageComparison: messages as arrays, and whether two requests are the same, with their
// passcodes.

import KeychainCrypto
import KeychainModel
import KeychainWire

extension ServiceOperation {
    func isSame(as other: ServiceOperation) -> Bool {
        switch (self, other) {
        case (.hello(let a), .hello(let b)): a == b
        case (.add(let a), .add(let b)): a == b
        case (.find(let a, let c), .find(let b, let d)): a == b && c == d
        case (.update(let a, let c), .update(let b, let d)): a == b && c == d
        case (.put(let a, let c, let e), .put(let b, let d, let f)): a == b && c == d && e == f
        case (.delete(let a, let c), .delete(let b, let d)): a == b && c == d
        case (.addAll(let a), .addAll(let b)): a == b
        case (.findIdentities(let a, let c), .findIdentities(let b, let d)): a == b && c == d
        case (.updateIdentities(let a, let c), .updateIdentities(let b, let d)):
            a == b && c == d
        case (.deleteIdentities(let a, let c), .deleteIdentities(let b, let d)):
            a == b && c == d
        case (.authenticate(let a), .authenticate(let b)): a == b
        case (.unsubscribe(let a), .unsubscribe(let b)): a == b
        case (.makeSecureEnclaveKey(let a), .makeSecureEnclaveKey(let b)): a == b
        case (.sign(let a, let c, let e), .sign(let b, let d, let f)):
            a == b && c == d && e == f
        case (.sharedSecret(let a, let c, let e), .sharedSecret(let b, let d, let f)):
            a == b && c == d && e == f
        case (.unlock(let a), .unlock(let b)): a.isEqual(to: b)
        case (.setPasscode(let a), .setPasscode(let b)): a.isEqual(to: b)
        case (.changePasscode(let a, let c), .changePasscode(let b, let d)):
            a.isEqual(to: b) && c.isEqual(to: d)
        case (.removePasscode(let a), .removePasscode(let b)): a.isEqual(to: b)
        case (.knowsPasscode, .knowsPasscode), (.subscribe, .subscribe),
            (.hasSecureEnclave, .hasSecureEnclave), (.lock, .lock),
            (.lockAll, .lockAll), (.status, .status),
            (.check, .check):
            true
        default: false
        }
    }
}

extension FrameBuffer {
    /// The message in the frame, as an array.
    var message: [UInt8] { Array(all.dropFirst(FrameHeader.byteCount)) }

    /// The whole frame, as an array.
    var all: [UInt8] {
        // SAFETY: the bytes are copied within the closure.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}

extension ReceivedRequest {
    /// The bytes of a message.
    init(bytes: [UInt8]) throws(KeychainFailure) {
        // SAFETY: the span lives for the duration of the call.
        try self.init(message: unsafe bytes.span.bytes)
    }
}

extension ServiceReply {
    /// The bytes of a message.
    init(bytes: [UInt8]) throws(KeychainFailure) {
        // SAFETY: the span lives for the duration of the call.
        try self.init(message: unsafe bytes.span.bytes)
    }
}
