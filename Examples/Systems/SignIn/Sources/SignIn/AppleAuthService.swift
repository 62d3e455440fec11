// AppleAuthService: signs the user in with the sign-in service.

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Signs the user in with the sign-in service.
public final class AppleAuthService: Sendable {
    private let request: @Sendable () async throws -> AppleAuthCredential

    /// Creates a client of the service on this machine. Nothing is sent before ``signIn()``.
    ///
    /// - Parameters:
    ///   - port: The TCP port of the service on 127.0.0.1.
    ///   - account: The account of the device, by which the service identifies the user.
    ///   - timeLimit: The maximum time for a response, in seconds, greater than 0.
    public convenience init(
        port: UInt16 = 8755, account: String = NSUserName(), timeLimit: TimeInterval = 30
    ) {
        self.init {
            try await Self.askService(port: port, account: account, timeLimit: timeLimit)
        }
    }

    /// - Parameter request: Requests the credential.
    init(request: @escaping @Sendable () async throws -> AppleAuthCredential) {
        self.request = request
    }

    /// Signs the user in. Canceling the task cancels the sign-in.
    ///
    /// - Returns: A credential with a non-empty identifier.
    /// - Throws: ``AppleAuthError``, which is `cancelled` if the user or the task canceled the
    ///   sign-in.
    public func signIn() async throws -> AppleAuthCredential {
        guard !Task.isCancelled else { throw AppleAuthError.cancelled }
        let credential = try await request()
        guard !Task.isCancelled else { throw AppleAuthError.cancelled }
        guard !credential.user.isEmpty else { throw AppleAuthError.invalidAnswer }
        return credential
    }

    /// Sends the request to the service. Only this function, `credential(in:_:)` and the parameters
    /// of the public initializer depend on the stand-in for Apple's service. On Apple platforms, an
    /// app uses `ASAuthorizationController` with a request of `ASAuthorizationAppleIDProvider`,
    /// takes `user` from the `ASAuthorizationAppleIDCredential`, and maps the code `canceled` of
    /// `ASAuthorizationError` to ``AppleAuthError/cancelled``.
    private static func askService(
        port: UInt16, account: String, timeLimit: TimeInterval
    ) async throws -> AppleAuthCredential {
        guard let url = URL(string: "http://127.0.0.1:\(port)/sign-in") else {
            throw AppleAuthError.unreachable
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(["account": account])
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeLimit
        configuration.timeoutIntervalForResource = timeLimit
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        do {
            let (data, response) = try await session.data(for: request)
            return try credential(in: data, response)
        } catch let error as URLError {
            switch error.code {
            case .timedOut: throw AppleAuthError.timedOut
            case .cancelled: throw AppleAuthError.cancelled
            default: throw AppleAuthError.unreachable
            }
        } catch is CancellationError {
            throw AppleAuthError.cancelled
        }
    }

    static func credential(
        in data: Data, _ response: URLResponse
    ) throws -> AppleAuthCredential {
        let answer = try? JSONDecoder().decode([String: String].self, from: data)
        if answer?["error"] == "user_cancelled_authorize" { throw AppleAuthError.cancelled }
        let statusCode = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard statusCode == 200 else { throw AppleAuthError.failed(statusCode: statusCode) }
        guard let user = answer?["user"] else { throw AppleAuthError.invalidAnswer }
        return AppleAuthCredential(user: user)
    }
}
