// Television: the requests to a television, and the meaning of its responses.
//   (1) The client key is in the body of a request, never in its URL.
//   (2) Nothing is cached or written to a file: the session is ephemeral.
//   (3) The communication is a simplified stand-in, JSON over plain HTTP. A real television uses a
//       different protocol.

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A television on the network.
struct Television: Hashable, Sendable {
    private struct Registration: Encodable {
        enum CodingKeys: String, CodingKey {
            case name
            case clientKey = "client-key"
        }

        let name: String
        let clientKey: String?
    }

    private struct Answer: Decodable {
        enum CodingKeys: String, CodingKey {
            case clientKey = "client-key"
        }

        let clientKey: String
    }

    /// The name of this program, which the television shows to its user.
    static let clientName = "LG TV Remote"

    let ipAddress: String
    let port: UInt16
    let timeLimit: Duration

    /// Registers this program.
    ///
    /// - Parameter clientKey: The key of an earlier pairing. If `nil`, the television asks its
    ///   user.
    /// - Returns: The given key or, if it is `nil`, the key that the television issued.
    /// - Throws: ``LGTVControlError``, or `CancellationError` if the task is canceled.
    func register(clientKey: String?) async throws -> String {
        let (status, body) = try await send(try registration(clientKey: clientKey))
        switch status {
        case 200:
            if let clientKey { return clientKey }
            guard let answer = try? JSONDecoder().decode(Answer.self, from: body),
                !answer.clientKey.isEmpty
            else { throw LGTVControlError.unexpectedAnswer(status) }
            return answer.clientKey
        case 401: throw LGTVControlError.keyRefused
        case 403: throw LGTVControlError.declined
        default: throw LGTVControlError.unexpectedAnswer(status)
        }
    }

    /// The request that registers this program.
    func registration(clientKey: String?) throws -> URLRequest {
        var components = URLComponents()
        components.scheme = "http"
        components.host = ipAddress.contains(":") ? "[\(ipAddress)]" : ipAddress
        components.port = Int(port)
        components.path = "/register"
        guard !ipAddress.isEmpty, let url = components.url else {
            throw LGTVControlError.invalidAddress
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(
            Registration(name: Self.clientName, clientKey: clientKey))
        return request
    }

    /// Sends a request with a time limit. `timeoutInterval` is not suitable: it restarts with each
    /// part of a response, and Foundation on Linux supports only whole seconds.
    private func send(_ request: URLRequest) async throws -> (status: Int, body: Data) {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        do {
            return try await withThrowingTaskGroup(of: (status: Int, body: Data).self) { group in
                group.addTask {
                    let (body, response) = try await session.data(for: request)
                    return ((response as? HTTPURLResponse)?.statusCode ?? 0, body)
                }
                group.addTask {
                    try await Task.sleep(for: timeLimit)
                    throw LGTVControlError.noAnswer
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() else {
                    throw LGTVControlError.noAnswer
                }
                return answer
            }
        } catch let error as URLError {
            try Task.checkCancellation()
            throw error.code == .timedOut ? LGTVControlError.noAnswer : .unreachable
        }
    }
}
