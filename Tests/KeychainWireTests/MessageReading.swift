// MessageReading: messages as arrays. The functions encode messages as a client does, decode
// messages as the service does, and compare values.

import Foundation
import KeychainCore
import KeychainWire

extension FrameBuffer {
    /// The whole frame, as an array.
    var all: [UInt8] {
        // SAFETY: the bytes are copied within the closure.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }

    /// The message in the frame, as an array.
    var message: [UInt8] { Array(all.dropFirst(FrameHeader.byteCount)) }

    convenience init(_ bytes: [UInt8]) {
        // SAFETY: the block has the size of the array.
        unsafe self.init(byteCount: bytes.count) { unsafe $0.copyBytes(from: bytes) }
    }
}

/// A request as the service decodes it, with the id and the claim that precede it.
struct ReadRequest {
    var id: UInt64
    var claim: AccessGroups
    var request: any Request
}

enum Messages {
    /// The types of all requests.
    static let types: [RequestCode: any Request.Type] = {
        var values = RandomValues(seed: 0)
        return Dictionary(uniqueKeysWithValues: values.requests().map { ($0.code, type(of: $0)) })
    }()

    /// Decodes all of the bytes as a value.
    static func value<Value: MessageCodable>(
        _ type: Value.Type, _ bytes: [UInt8], elementLimit: Int = .max
    ) throws(KeychainFailure) -> Value {
        try FrameBuffer(bytes).read(elementLimit: elementLimit) { reader throws(KeychainFailure) in
            try reader.whole()
        }
    }

    static func bytes(_ value: some MessageCodable) -> [UInt8] {
        var writer = MessageWriter()
        value.encode(to: &writer)
        return writer.finished().all
    }

    /// Decodes a message from a client as the service does.
    ///
    /// - Returns: `nil` for a message that contains no request.
    /// - Throws: `param` if the message is malformed; `unimplemented` if its kind or its request
    ///   code is unknown.
    static func request(
        _ message: [UInt8], elementLimit: Int = WireLimits.elementCount
    ) throws(KeychainFailure) -> ReadRequest? {
        try FrameBuffer(message).read(elementLimit: elementLimit) {
            reader throws(KeychainFailure) -> ReadRequest? in
            let id = try ClientMessage.id(from: &reader)
            guard case .request(let code, let claim) = try ClientMessage(from: &reader),
                let type = types[code]
            else { return nil }
            return ReadRequest(id: id, claim: claim, request: try request(type, &reader))
        }
    }

    private static func request<R: Request>(
        _ type: R.Type, _ reader: inout MessageReader
    ) throws(KeychainFailure) -> any Request {
        try reader.whole() as R
    }

    static func message(
        _ request: some Request, id: UInt64 = 9, claim: AccessGroups = AccessGroups([])
    ) throws(KeychainFailure) -> [UInt8] {
        try ClientMessage.frame(of: request, id: id, claim: claim).message
    }

    /// Whether two values are equal in every field, including the bytes of secrets.
    static func isSame(_ a: Any, _ b: Any) -> Bool {
        if let a = a as? SecretBytes { return (b as? SecretBytes)?.isEqual(to: a) == true }
        if let a = a as? any Hashable, let b = b as? any Hashable {
            return AnyHashable(a) == AnyHashable(b)
        }
        let (fields, others) = (Mirror(reflecting: a).children, Mirror(reflecting: b).children)
        return type(of: a) == type(of: b) && fields.count == others.count
            && zip(fields, others).allSatisfy { isSame($0.value, $1.value) }
    }
}

extension Request {
    var code: RequestCode { Self.code }
    var answerType: Any.Type { Answer.self }
}
