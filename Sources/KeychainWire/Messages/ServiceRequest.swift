// ServiceRequest: a request as it goes over a connection.

import KeychainCrypto
package import KeychainModel

/// What a client asks for, and on behalf of which access groups.
package struct ServiceRequest: Sendable {
    /// 1 and up, another one for each request of a connection.
    package var id: UInt64
    /// Whose items the request may see, as the client says. The service takes of these groups
    /// those that the client is entitled to. Empty in requests that are about no items.
    package var claim: AccessGroups
    package var operation: ServiceOperation

    package init(id: UInt64, claim: AccessGroups = AccessGroups([]), _ operation: ServiceOperation)
    {
        self.id = id
        self.claim = claim
        self.operation = operation
    }

    /// The request as a frame.
    /// - Throws: `param` where it is larger than a message may be.
    package func frame(
        limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> FrameBuffer {
        let frame = try WireRequest(self).frame(limit: limit)
        if operation.holdsPasscode { Residue.eraseFreedMemory() }
        return frame
    }
}

/// A request that has arrived. Where it isn't one that could be carried out, its sender can be told
/// so.
package struct ReceivedRequest: Sendable {
    package let id: UInt64
    /// A failure is `param`, or `unimplemented` for an operation that isn't known.
    package let request: Result<ServiceRequest, KeychainFailure>

    /// Reads the message of a frame. The bytes are the caller's to erase.
    /// - Throws: `param` for bytes that are no request at all: the connection is to be ended.
    package init(message: RawSpan) throws(KeychainFailure) {
        try RequestWeight.check(message)
        let received = try WireRequest(message: message)
        guard received.id > 0 else { throw .param("A request to the keychain service has no id.") }
        id = received.id
        request = Result { () throws(KeychainFailure) in try received.request() }
        if case .success(let request) = request, request.operation.holdsPasscode {
            Residue.eraseFreedMemory()
        }
    }
}

extension ServiceOperation {
    /// Whether a passcode is in it, which stays in no memory that was used to encode it.
    var holdsPasscode: Bool {
        switch self {
        case .authenticate, .unlock, .setPasscode, .changePasscode, .removePasscode: true
        default: false
        }
    }
}
