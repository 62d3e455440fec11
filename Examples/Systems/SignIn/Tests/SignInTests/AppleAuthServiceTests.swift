// AppleAuthServiceTests: how AppleAuthService handles the responses of the sign-in service. A
// process on this machine replaces the real service.

import ExampleTesting
import Foundation
import KeychainTesting
import Observation
import Testing

@testable import SignIn

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if canImport(Glibc)
import Glibc
#endif

@MainActor @Suite struct `Sign-in service` {
    let home: Home
    let port: UInt16

    init() throws {
        home = try Home(["sign-in-service"], portVariable: "SIGN_IN_PORT")
        port = try #require(home.environment["SIGN_IN_PORT"].flatMap(UInt16.init))
    }

    private func turnOn(_ answers: String) throws {
        #expect(
            try home.run("sign-in-service on \(answers)") == "The sign-in-service is on.\n")
    }

    private func service(_ account: String = "alice", timeLimit: TimeInterval = 60)
        -> AppleAuthService
    {
        AppleAuthService(port: port, account: account, timeLimit: timeLimit)
    }

    @Test func `each account has its own opaque identifier, which never changes`() async throws {
        try turnOn("succeed")
        let user = try await service().signIn().user
        #expect(user.wholeMatch(of: /\d{6}\.[0-9a-f]{32}\.\d{4}/) != nil)
        #expect(!user.contains("alice"))
        #expect(try await service().signIn().user == user)
        #expect(try await service("bob").signIn().user != user)
        #expect(
            try home.run("sign-in-service log")
                == String(repeating: "POST /sign-in 200\n", count: 3))
    }

    @Test func `a cancelled sign-in is reported differently from a failed service`() async throws {
        try turnOn("cancel fail")
        await #expect(throws: AppleAuthError.cancelled) { try await service().signIn() }
        await #expect(throws: AppleAuthError.failed(statusCode: 500)) {
            try await service().signIn()
        }
        #expect(
            try home.run("sign-in-service log") == "POST /sign-in 403\nPOST /sign-in 500\n")
    }

    @Test func `a service that is off is unreachable, and signing in works once it is on`()
        async throws
    {
        await #expect(throws: AppleAuthError.unreachable) { try await service().signIn() }
        try turnOn("succeed")
        #expect(try await !service().signIn().user.isEmpty)
    }

    @Test func `an answer that comes too late is reported as a timeout`() async throws {
        try turnOn("slow")
        await #expect(throws: AppleAuthError.timedOut) {
            try await service(timeLimit: 0.1).signIn()
        }
        #expect(try await !service().signIn().user.isEmpty)
    }

    @Test func `during a slow answer an observer is notified that the model is loading`()
        async throws
    {
        try turnOn("slow")
        await TestKeychain().withSecItem {
            let model = AuthViewModel(authService: service(), keychain: silent)
            await confirmation { began in
                withObservationTracking {
                    #expect(!model.isLoading)
                } onChange: {
                    began()
                }
                let signIn = Task { await model.signInWithApple() }
                await wait { model.isLoading }
                await signIn.value
            }
            #expect(model.isAuthenticated)
            #expect(!model.isLoading)
        }
    }

    @Test func `cancelling the task cancels the sign-in`() async throws {
        // This server never responds.
        let silence = try SilentServer()
        let service = AppleAuthService(port: silence.port, account: "alice", timeLimit: 60)
        for turnCount in [0, 1, 100] {
            let signIn = Task { try await service.signIn() }
            for _ in 0..<turnCount { await turn() }
            signIn.cancel()
            await #expect(throws: AppleAuthError.cancelled) { try await signIn.value }
        }
    }

    @Test(arguments: ["", "{}", #"{"user": 1}"#, "[]", #"{"user": "#, "\u{0}"])
    func `an answer without a credential is reported as invalid`(body: String) throws {
        let url = try #require(URL(string: "http://127.0.0.1/sign-in"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        #expect(throws: AppleAuthError.invalidAnswer) {
            try AppleAuthService.credential(in: Data(body.utf8), response)
        }
    }

    @Test func `a credential with an empty identifier is reported as invalid`() async {
        await #expect(throws: AppleAuthError.invalidAnswer) {
            try await AppleAuthService { AppleAuthCredential(user: "") }.signIn()
        }
    }

    @Test func `no description or dump of a credential holds the identifier`() {
        let credential = AppleAuthCredential(user: alice)
        var text = "\(credential) \(String(reflecting: credential))"
        dump(credential, to: &text)
        #expect(text.contains("AppleAuthCredential"))
        #expect(!text.contains("001234"))
    }

    @Test func `each error has a message for the user`() {
        let errors: [AppleAuthError] = [
            .cancelled, .failed(statusCode: 500), .timedOut, .unreachable, .invalidAnswer,
        ]
        let texts = Set(errors.map(\.localizedDescription))
        #expect(texts.count == 5)
        for text in texts { #expect(text.contains("sign-in") && text.hasSuffix(".")) }
    }
}

/// Listens on the loopback interface and never responds. The kernel completes the connections.
private final class SilentServer {
    private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let port: UInt16

    init() throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                    && listen(descriptor, 16) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(isListening)
    }

    deinit { close(descriptor) }
}
