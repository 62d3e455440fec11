// EtcdAnswers: the messages from etcd's JSON gateway, with the names of etcd's `rpc.proto`.
//   (1) Every answer about keys needs a header. One without a header isn't etcd's, so `{}` from
//       another server doesn't mean that there are no keys.

#if Synchronization

struct AnswerHeader: Decodable {
    let revision: Int64

    enum CodingKeys: CodingKey { case revision }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        revision = try container.number(.revision)
    }
}

/// A key with its value. For a deleted key, only `key` and `modRevision` are set.
struct KeyValue: Decodable {
    let key: EtcdKey
    let value: [UInt8]
    let createRevision: Int64
    let modRevision: Int64
    let version: Int64

    enum CodingKeys: CodingKey { case key, value, createRevision, modRevision, version }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        key = EtcdKey(try container.bytes(.key))
        value = try container.bytes(.value)
        createRevision = try container.number(.createRevision)
        modRevision = try container.number(.modRevision)
        version = try container.number(.version)
    }

    /// - Parameter prefix: The configured prefix.
    /// - Returns: `nil` if the key doesn't begin with the prefix.
    func item(below prefix: EtcdKey) -> EtcdItem? {
        key.dropping(prefix).map {
            EtcdItem(
                key: $0, value: value, createRevision: createRevision, modRevision: modRevision,
                version: version)
        }
    }
}

struct RangeAnswer: Decodable {
    let header: AnswerHeader
    let keyValues: [KeyValue]
    let hasMore: Bool

    enum CodingKeys: CodingKey { case header, kvs, more }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        header = try container.decode(AnswerHeader.self, forKey: .header)
        keyValues = try container.list(.kvs)
        hasMore = try container.flag(.more)
    }
}

struct DeletionAnswer: Decodable {
    let header: AnswerHeader
    let count: Int64

    enum CodingKeys: CodingKey { case header, deleted }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        header = try container.decode(AnswerHeader.self, forKey: .header)
        count = try container.number(.deleted)
    }
}

struct TransactionAnswer: Decodable {
    /// The answer to one operation. The answer to a put contains nothing that is used.
    struct Part: Decodable {
        let responseRange: RangeAnswer?
    }

    let header: AnswerHeader
    let succeeded: Bool
    let parts: [Part]

    enum CodingKeys: CodingKey { case header, succeeded, responses }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        header = try container.decode(AnswerHeader.self, forKey: .header)
        succeeded = try container.flag(.succeeded)
        parts = try container.list(.responses)
    }
}

struct AuthenticationAnswer: Decodable {
    let token: String
}

struct ErrorAnswer: Decodable {
    let message: String
    /// The gRPC status code.
    let code: Int
}

/// One message of a watch.
struct WatchAnswer: Decodable {
    struct Event: Decodable {
        /// `PUT` is omitted in JSON, because it is the default.
        enum Kind: String, Decodable { case put = "PUT", deletion = "DELETE" }

        let type: Kind?
        let kv: KeyValue
    }

    struct Message: Decodable {
        let header: AnswerHeader
        let isCreated: Bool
        let isCanceled: Bool
        let compactRevision: Int64
        /// Whether etcd has split an answer, so that the next message may have more events of this
        /// message's last revision.
        let isFragment: Bool
        let events: [Event]

        enum CodingKeys: CodingKey {
            case header, created, canceled, compactRevision, fragment, events
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            header = try container.decode(AnswerHeader.self, forKey: .header)
            isCreated = try container.flag(.created)
            isCanceled = try container.flag(.canceled)
            compactRevision = try container.number(.compactRevision)
            isFragment = try container.flag(.fragment)
            events = try container.list(.events)
        }
    }

    let result: Message
}

#endif
