// DeviceBackend: what the app asks its backend about devices.

import Dispatch
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A backend that knows devices by their identifiers.
public protocol DeviceBackend: Sendable {
    /// Asks whether a device is registered.
    ///
    /// - Parameter deviceId: Its identifier.
    /// - Returns: Whether it is. False never stands for a failure.
    /// - Throws: ``BackendError``, or `URLError` if there was no answer.
    func isRegistered(_ deviceId: UUID) async throws -> Bool

    /// Registers a device. For one that is registered already this changes nothing.
    ///
    /// - Parameter deviceId: Its identifier.
    /// - Throws: ``BackendError``, or `URLError` if there was no answer. The backend may have
    ///   registered the device even so.
    func register(_ deviceId: UUID) async throws
}

/// An answer of the backend that isn't the one that was asked for.
public enum BackendError: Error, Hashable, Sendable {
    /// The status code of HTTP.
    case status(Int)
    /// An answer that is not the backend's, such as the page of a network that asks for a log-in.
    case unexpectedAnswer
}

/// The backend, over HTTP: `GET /devices/<id>` and `POST /devices`.
///
/// An identifier is registered once however often it is sent: the backend adds it with the first
/// request (201) and finds it with a later one (200).
public struct BackendClient: DeviceBackend {
    private struct Device: Codable {
        let deviceId: UUID
    }

    private let baseURL: URL
    private let checkTimeLimit: Duration
    private let registrationTimeLimit: Duration
    private let session: URLSession

    /// A client. Nothing is sent before the first question.
    ///
    /// - Parameters:
    ///   - baseURL: The address that the paths are appended to.
    ///   - checkTimeLimit: How long to wait for the answer to ``isRegistered(_:)``.
    ///   - registrationTimeLimit: How long to wait for the answer to ``register(_:)``.
    ///   - configuration: That of the session: nothing is kept on the disk.
    public init(
        baseURL: URL, checkTimeLimit: Duration = .seconds(60),
        registrationTimeLimit: Duration = .seconds(60),
        configuration: URLSessionConfiguration = .ephemeral
    ) {
        session = URLSession(configuration: configuration)
        self.baseURL = baseURL
        self.checkTimeLimit = checkTimeLimit
        self.registrationTimeLimit = registrationTimeLimit
    }

    /// Asks whether a device is registered.
    ///
    /// - Parameter deviceId: Its identifier.
    /// - Returns: Whether it is.
    /// - Throws: ``BackendError``, or `URLError` if there was no answer.
    public func isRegistered(_ deviceId: UUID) async throws -> Bool {
        let url = baseURL.appending(path: "devices/\(deviceId.uuidString)")
        let (data, status) = try await send(URLRequest(url: url), within: checkTimeLimit)
        switch status {
        case 200:
            try check(data, isFor: deviceId)
            return true
        case 404: return false
        default: throw BackendError.status(status)
        }
    }

    /// Registers a device.
    ///
    /// - Parameter deviceId: Its identifier.
    /// - Throws: ``BackendError``, or `URLError` if there was no answer.
    public func register(_ deviceId: UUID) async throws {
        var request = URLRequest(url: baseURL.appending(path: "devices"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(Device(deviceId: deviceId))
        let (data, status) = try await send(request, within: registrationTimeLimit)
        guard status == 200 || status == 201 else { throw BackendError.status(status) }
        try check(data, isFor: deviceId)
    }

    private func check(_ data: Data, isFor deviceId: UUID) throws {
        guard let device = try? JSONDecoder().decode(Device.self, from: data),
            device.deviceId == deviceId
        else { throw BackendError.unexpectedAnswer }
    }

    /// Sends a request and waits for the first of its answer and the end of the time.
    ///
    /// The time limit is not the request's own, which is in whole seconds on Linux. It ends also
    /// where all threads that tasks share are busy. And the answer of a request that is cancelled
    /// is not waited for: it need not come.
    private func send(
        _ request: URLRequest, within limit: Duration
    ) async throws -> (Data, status: Int) {
        let (answers, answer) = AsyncThrowingStream<(Data, status: Int), any Error>.makeStream()
        let request = session.dataTask(with: request) { data, response, error in
            if let data, let response = response as? HTTPURLResponse {
                answer.yield((data, response.statusCode))
            }
            answer.finish(throwing: error ?? BackendError.unexpectedAnswer)
        }
        let timer = DispatchWorkItem { answer.finish(throwing: URLError(.timedOut)) }
        DispatchQueue.global().asyncAfter(
            deadline: .now() + limit / .seconds(1), execute: timer)
        defer {
            timer.cancel()
            request.cancel()
        }
        request.resume()
        for try await first in answers { return first }
        throw CancellationError()
    }
}
