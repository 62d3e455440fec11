// BackendClientTests: tests the client's requests to the stand-in backend, and the meaning of each
// response.

import DeviceIdentity
import ExampleTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct `Backend client` {
    /// A backend and its client.
    private struct Backend {
        let home: Home
        let client: BackendClient

        init(_ answers: String, registrationTimeLimit: Duration = .seconds(60)) throws {
            home = try Home(["backend"], portVariable: "BACKEND_PORT")
            let port = try #require(home.environment["BACKEND_PORT"])
            client = BackendClient(
                baseURL: try #require(URL(string: "http://127.0.0.1:\(port)")),
                registrationTimeLimit: registrationTimeLimit)
            if !answers.isEmpty {
                #expect(try home.run("backend on \(answers)") == "The backend is on.\n")
            }
        }
    }

    @Test func `a device is registered once, however often its identifier is sent`() async throws {
        let backend = try Backend("ok")
        let deviceId = UUID()
        #expect(try await !backend.client.isRegistered(deviceId))
        try await backend.client.register(deviceId)
        #expect(try await backend.client.isRegistered(deviceId))
        try await backend.client.register(deviceId)
        #expect(try await !backend.client.isRegistered(UUID()))
        let log = try backend.home.run("backend log").split(separator: "\n").map(String.init)
        #expect(
            log.dropLast() == [
                "GET /devices/\(deviceId) 404", "POST /devices 201",
                "GET /devices/\(deviceId) 200", "POST /devices 200",
            ])
    }

    @Test(arguments: [("fail", 503), ("refuse", 403)])
    func `an error response is thrown as an error, and nothing is registered`(
        answer: String, status: Int
    ) async throws {
        let backend = try Backend("\(answer) \(answer) ok")
        let deviceId = UUID()
        await #expect(throws: BackendError.status(status)) {
            try await backend.client.isRegistered(deviceId)
        }
        await #expect(throws: BackendError.status(status)) {
            try await backend.client.register(deviceId)
        }
        #expect(try await !backend.client.isRegistered(deviceId))
    }

    @Test func `a late answer causes a timeout, and the registration is carried out anyway`()
        async throws
    {
        let backend = try Backend("late ok", registrationTimeLimit: .milliseconds(500))
        let deviceId = UUID()
        let error = await #expect(throws: URLError.self) {
            try await backend.client.register(deviceId)
        }
        #expect(error?.code == .timedOut)
        // The backend can be slower than the client, so repeat the check until the backend has
        // carried out the request.
        var isRegistered = false
        for _ in 1...1000 where !isRegistered {
            isRegistered = try await backend.client.isRegistered(deviceId)
        }
        #expect(isRegistered)
    }

    @Test func `a check times out after the client's time limit for checks`() async throws {
        let backend = try Backend("late ok")
        let port = try #require(backend.home.environment["BACKEND_PORT"])
        let hurried = BackendClient(
            baseURL: try #require(URL(string: "http://127.0.0.1:\(port)")),
            checkTimeLimit: .milliseconds(100))
        let error = await #expect(throws: URLError.self) {
            try await hurried.isRegistered(UUID())
        }
        #expect(error?.code == .timedOut)
    }

    @Test func `a backend that is off causes an error and isn't taken as "not registered"`()
        async throws
    {
        let backend = try Backend("")
        await #expect(throws: URLError.self) { try await backend.client.isRegistered(UUID()) }
        await #expect(throws: URLError.self) { try await backend.client.register(UUID()) }
    }

    @Test func `the page of another server is reported as an unexpected answer`() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [LogInPage.self]
        let client = BackendClient(
            baseURL: try #require(URL(string: "http://backend.invalid")),
            configuration: configuration)
        await #expect(throws: BackendError.unexpectedAnswer) {
            try await client.isRegistered(UUID())
        }
        await #expect(throws: BackendError.unexpectedAnswer) { try await client.register(UUID()) }
    }

    @Test func `a task that is canceled doesn't wait for a response`() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Silence.self]
        let client = BackendClient(
            baseURL: try #require(URL(string: "http://backend.invalid")),
            configuration: configuration)
        let check = Task { try await client.isRegistered(UUID()) }
        check.cancel()
        await #expect(throws: CancellationError.self) { try await check.value }
        let registration = Task { try await client.register(UUID()) }
        registration.cancel()
        await #expect(throws: CancellationError.self) { try await registration.value }
    }
}

/// A server that never responds.
private final class Silence: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() {}
    override func stopLoading() {}
}

/// A captive portal, which answers every request with its own page until the user logs in.
private final class LogInPage: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: nil)
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("<html>Log in</html>".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}
