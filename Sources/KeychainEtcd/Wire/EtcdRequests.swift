// EtcdRequests: the requests to etcd's JSON gateway. The fields are named as in etcd's `rpc.proto`,
// but in camel case: the encoder converts their names to snake case. Most types are named
// differently than in `rpc.proto`.

#if Synchronization

/// A method of the gateway: its path and the type of its answer.
struct EtcdMethod<Answer: Decodable & Sendable>: Sendable {
    let path: String
}

extension EtcdMethod where Answer == RangeAnswer {
    static var range: Self { Self(path: "/v3/kv/range") }
}
extension EtcdMethod where Answer == TransactionAnswer {
    static var transaction: Self { Self(path: "/v3/kv/txn") }
}
extension EtcdMethod where Answer == DeletionAnswer {
    static var deleteRange: Self { Self(path: "/v3/kv/deleterange") }
}
extension EtcdMethod where Answer == AuthenticationAnswer {
    static var authenticate: Self { Self(path: "/v3/auth/authenticate") }
}
extension EtcdMethod where Answer == WatchAnswer {
    static var watch: Self { Self(path: "/v3/watch") }
}

struct AuthenticationRequest: Encodable {
    let name: String
    let password: String
}

struct RangeRequest: Encodable {
    var key: Base64Bytes
    var rangeEnd: Base64Bytes?
    var limit: DecimalNumber?
    var revision: DecimalNumber?
    var keysOnly: Bool?
}

struct DeletionRequest: Encodable {
    var key: Base64Bytes
    var rangeEnd: Base64Bytes
}

struct TransactionRequest: Encodable {
    struct Compare: Encodable {
        let key: Base64Bytes
        var target = "MOD"
        var result = "EQUAL"
        let modRevision: DecimalNumber
    }

    struct Put: Encodable {
        let key: Base64Bytes
        let value: Base64Bytes
    }

    enum Operation: Encodable {
        case requestPut(Put)
        case requestRange(RangeRequest)

        enum CodingKeys: CodingKey { case requestPut, requestRange }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .requestPut(let put): try container.encode(put, forKey: .requestPut)
            case .requestRange(let range): try container.encode(range, forKey: .requestRange)
            }
        }
    }

    let compare: [Compare]
    let success: [Operation]
    let failure: [Operation]
}

struct WatchRequest: Encodable {
    struct Creation: Encodable {
        let key: Base64Bytes
        let rangeEnd: Base64Bytes
        let startRevision: DecimalNumber
        /// Requests occasional messages that report the progress of the watch.
        var progressNotify = true
        /// Permits etcd to split a large answer into several messages.
        var fragment = true
    }

    let createRequest: Creation
}

#endif
