// ServiceReply: an answer or a notification as it goes over a connection.

package import FoundationEssentials
package import KeychainEngine
package import KeychainModel

/// What the service gives to a request that it carried out.
package enum ServiceAnswer: Hashable, Sendable {
    case welcome(Welcome)
    case done
    case item(Item)
    case items([Item])
    case identities([Identity])
    /// 0 and up.
    case count(Int)
    case flag(Bool)
    case grant(AuthenticationGrant)
    case secureEnclaveKey(SecureEnclaveKey)
    case data(Data)
    case status(KeychainStatus)
    case report(CheckReport)
}

extension ServiceAnswer: CustomStringConvertible, CustomReflectable {
    package var description: String { "ServiceAnswer" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the service sends.
package struct ServiceReply: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case answer(ServiceAnswer)
        /// The request was not carried out.
        case failure(KeychainFailure)
        /// The first items or identities of a long answer; another reply goes on with them. Only
        /// ``ServiceReply/frames(partByteCount:limit:)`` makes them.
        case part(ServiceAnswer)
        /// To a subscription: something changed.
        case changed
        /// A check takes its time: so many items are done, of so many.
        case progress(done: Int, total: Int)
    }

    /// Of the request; in a notification, of the request that began the subscription. 0 in the
    /// failure of a whole connection.
    package var id: UInt64
    package var content: Content

    package init(id: UInt64, _ content: Content) {
        self.id = id
        self.content = content
    }

    /// Reads the message of a frame. The bytes are the caller's to erase.
    /// - Throws: `param` for bytes that are no reply.
    package init(message: RawSpan) throws(KeychainFailure) {
        self = try WireReply(message: message).reply()
    }

    /// The reply as frames, in their order: several where it holds many items. An answer that is
    /// too large to be sent becomes a failure.
    ///
    /// - Parameters:
    ///   - partByteCount: About how many bytes of items go into a frame.
    ///   - limit: The most bytes of one message.
    /// - Returns: One frame and up.
    package func frames(
        partByteCount: Int = WireLimits.partByteCount, limit: Int = WireLimits.messageByteCount
    ) -> [FrameBuffer] {
        do {
            return try parts(partByteCount).map { part throws(KeychainFailure) in
                try WireReply(part).frame(limit: limit)
            }
        } catch {
            let failure = KeychainFailure(
                .notAvailable,
                "The answer is larger than the keychain service can send. Ask for less at once.")
            // This one is small.
            return (try? WireReply(ServiceReply(id: id, .failure(failure))).frame()).map { [$0] }
                ?? []
        }
    }

    /// The replies that the frames hold.
    private func parts(_ partByteCount: Int) -> [ServiceReply] {
        switch content {
        case .answer(.items(let items)):
            let parts = items.parts(partByteCount) { $0.approximateByteCount }
            return parts.enumerated().map { index, part in
                reply(.items(Array(part)), isLast: index == parts.count - 1)
            }
        case .answer(.identities(let identities)):
            let parts = identities.parts(partByteCount) {
                $0.certificate.approximateByteCount + $0.key.approximateByteCount
            }
            return parts.enumerated().map { index, part in
                reply(.identities(Array(part)), isLast: index == parts.count - 1)
            }
        default: return [self]
        }
    }

    private func reply(_ answer: ServiceAnswer, isLast: Bool) -> ServiceReply {
        ServiceReply(id: id, isLast ? .answer(answer) : .part(answer))
    }
}

extension Array {
    /// Slices of so much weight each, or a little more; at least one slice.
    fileprivate func parts(_ limit: Int, weight: (Element) -> Int) -> [ArraySlice<Element>] {
        var parts: [ArraySlice<Element>] = []
        var start = 0
        var sum = 0
        for (index, element) in enumerated() {
            sum += weight(element)
            if sum >= limit {
                parts.append(self[start...index])
                start = index + 1
                sum = 0
            }
        }
        if start < count || parts.isEmpty { parts.append(self[start...]) }
        return parts
    }
}

extension Item {
    /// What it takes in a message, within a factor of two.
    fileprivate var approximateByteCount: Int {
        let values = attributes.values.reduce(0) { sum, value in
            switch value {
            case .string(let text): sum + text.utf8.count + 8
            case .data(let data): sum + data.count + 8
            case .number, .date: sum + 16
            }
        }
        return 64 + accessGroup.utf8.count + values + (data?.count ?? 0)
    }
}
