// DeviceBackend: the app's requests to its backend about devices.

import Dispatch
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The backend with which the app registers devices.
public protocol DeviceBackend: Sendable {
    /// Asks the backend whether a device is registered.
    ///
    /// - Parameter deviceId: The device's identifier.
    /// - Returns: `true` if the device is registered. `false` never indicates a failure.
    /// - Throws: ``BackendError``, `URLError` if there was no response, or `CancellationError` if
    ///   the task was canceled.
    func isRegistered(_ deviceId: UUID) async throws -> Bool

    /// Registers a device. This has no effect if the device is already registered.
    ///
    /// - Parameter deviceId: The device's identifier.
    /// - Throws: ``BackendError``, `URLError` if there was no response, or `CancellationError` if
    ///   the task was canceled. The backend may have registered the device nevertheless.
    func register(_ deviceId: UUID) async throws
}

/// A response that does not fulfill the request.
public enum BackendError: Error, Hashable, Sendable {
    /// The HTTP status code of the response.
    case status(Int)
    /// A response that is not the backend's, such as the login page of a captive portal.
    case unexpectedAnswer
}

/// The backend, over HTTP: `GET /devices/<id>` and `POST /devices`.
///
/// An identifier is registered once, no matter how often it is sent: the backend adds it with the
/// first request (201) and finds it with later requests (200).
public struct BackendClient: DeviceBackend {
    private struct Device: Codable {
        let deviceId: UUID
    }

    private let baseURL: URL
    private let checkTimeLimit: Duration
    private let registrationTimeLimit: Duration
    private let session: URLSession

    /// Creates a client. Nothing is sent before the first request.
    ///
    /// - Parameters:
    ///   - baseURL: The URL that the paths are appended to.
    ///   - checkTimeLimit: The maximum time to wait for the response to ``isRegistered(_:)``.
    ///   - registrationTimeLimit: The maximum time to wait for the response to ``register(_:)``.
    ///   - configuration: The configuration of the session. The default stores nothing on disk.
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

    /// Asks the backend whether a device is registered.
    ///
    /// - Parameter deviceId: The device's identifier.
    /// - Returns: `true` if the device is registered.
    /// - Throws: ``BackendError``, `URLError` if there was no response, or `CancellationError` if
    ///   the task was canceled.
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
    /// - Parameter deviceId: The device's identifier.
    /// - Throws: ``BackendError``, `URLError` if there was no response, or `CancellationError` if
    ///   the task was canceled.
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

    /// Sends a request and waits for its response or the time limit, whichever comes first.
    ///
    /// This method does not use the request's own timeout, because that has a resolution of whole
    /// seconds on Linux. The timer runs on a dispatch queue, so it fires on time even if all
    /// threads of the cooperative pool are busy. The response to a canceled request is not awaited,
    /// because it may never arrive.
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
