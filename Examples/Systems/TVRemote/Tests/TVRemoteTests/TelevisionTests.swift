// TelevisionTests: the connection to a simulated television, which is a separate process on the
// loopback interface.

import ExampleTesting
import Foundation
import KeychainTesting
import Testing

@testable import TVRemote

@Suite(.cleanKeychain) struct `Television on the loopback` {
    let home: Home
    let manager: LGTVControlManager
    let ip = "127.0.0.1"
    let mac = "34:E6:E6:F9:05:50"

    init() throws {
        home = try Home(["television"], portVariable: "LGTV_PORT")
        manager = LGTVControlManager()
        manager.port = try #require(home.environment["LGTV_PORT"].flatMap(UInt16.init))
    }

    /// The keys that the television knows.
    private var keys: Set<String> {
        get throws {
            let data = try Data(contentsOf: home.url.appending(path: "television.json"))
            return Set(try JSONDecoder().decode([String: String].self, from: data).keys)
        }
    }

    private var log: [Substring] {
        get throws { try home.run("television log").split(separator: "\n") }
    }

    @Test func `the television issues a key after asking its user, and then recognizes the key`()
        async throws
    {
        _ = try home.run("television on accept")
        try await manager.connect(ip: ip, mac: mac)
        let key = try #require(try manager.loadCredentials()?.clientKey)
        #expect(key.count == 32)
        #expect(try keys == [key])
        try await manager.connect(ip: ip, mac: mac)
        #expect(try await manager.connectWithStoredCredentials()?.clientKey == key)
        #expect(try keys == [key])
        #expect(try log == Array(repeating: "POST /register 200", count: 3))
    }

    @Test func `the television receives the name of the program that registers`() async throws {
        _ = try home.run("television on accept")
        try await manager.connect(ip: ip, mac: mac)
        let text = try String(
            contentsOf: home.url.appending(path: "television.json"), encoding: .utf8)
        #expect(text.contains(#":"LG TV Remote""#))
    }

    /// How a registration can end without a key, and the error for it: the user of the television
    /// declines, or the television fails.
    static let refusals: [(String, LGTVControlError)] = [
        ("decline", .declined), ("fail", .unexpectedAnswer(500)),
    ]

    @Test(arguments: refusals)
    func `a declined or failed registration throws the matching error, and the next one succeeds`(
        _ answer: String, _ error: LGTVControlError
    ) async throws {
        _ = try home.run("television on \(answer) accept")
        await #expect(throws: error) { try await manager.connect(ip: ip, mac: mac) }
        #expect(try manager.loadCredentials()?.clientKey == nil)
        try await manager.connect(ip: ip, mac: mac)
        #expect(try manager.loadCredentials()?.clientKey != nil)
    }

    @Test func `connecting waits for a late answer, but not beyond the time limit`() async throws {
        _ = try home.run("television on late")
        manager.timeLimit = .milliseconds(100)
        await #expect(throws: LGTVControlError.noAnswer) {
            try await manager.connect(ip: ip, mac: mac)
        }
        #expect(try manager.loadCredentials()?.clientKey == nil)
        manager.timeLimit = .seconds(60)
        try await manager.connect(ip: ip, mac: mac)
        #expect(try manager.loadCredentials()?.clientKey != nil)
    }

    @Test func `a connection that is cancelled ends, and stores no key`() async throws {
        _ = try home.run("television on late")
        let connection = Task { [manager, ip, mac] in try await manager.connect(ip: ip, mac: mac) }
        let file = home.url.appending(path: "television.log").path
        await waitUntil { FileManager.default.fileExists(atPath: file) }
        connection.cancel()
        await #expect(throws: CancellationError.self) { try await connection.value }
        #expect(try manager.loadCredentials()?.clientKey == nil)
    }

    @Test func `a television that was switched off and on still accepts the key`() async throws {
        _ = try home.run("television on")
        try await manager.connect(ip: ip, mac: mac)
        let key = try manager.loadCredentials()?.clientKey
        _ = try home.run("television off")
        await #expect(throws: LGTVControlError.unreachable) {
            try await manager.connect(ip: ip, mac: mac)
        }
        _ = try home.run("television on decline")
        try await manager.connect(ip: ip, mac: mac)
        #expect(try manager.loadCredentials()?.clientKey == key)
    }

    @Test
    func `a reset television refuses the old key, and pairs again after the app clears its key`()
        async throws
    {
        _ = try home.run("television on")
        try await manager.connect(ip: ip, mac: mac)
        let old = try #require(try manager.loadCredentials()?.clientKey)
        _ = try home.run("television off && rm television.json && television on")
        await #expect(throws: LGTVControlError.keyRefused) {
            try await manager.connect(ip: ip, mac: mac)
        }
        await #expect(throws: LGTVControlError.keyRefused) {
            try await manager.connectWithStoredCredentials()
        }
        #expect(try manager.loadCredentials()?.clientKey == old)
        try manager.clearCredentials()
        try await manager.connect(ip: ip, mac: mac)
        let new = try #require(try manager.loadCredentials()?.clientKey)
        #expect(new != old)
        #expect(try keys == [new])
    }

    @Test func `a registration request contains the key only in its body`() throws {
        let key = "9ba71d29c353cf0bdcc00c4b0a8cc189"
        let television = Television(
            ipAddress: "10.0.0.14", port: 3000, timeLimit: .seconds(60))
        let request = try television.registration(clientKey: key)
        #expect(request.url?.absoluteString == "http://10.0.0.14:3000/register")
        #expect(request.httpMethod == "POST")
        #expect(request.allHTTPHeaderFields == ["Content-Type": "application/json"])
        #expect(
            try JSONDecoder().decode([String: String].self, from: #require(request.httpBody))
                == ["name": "LG TV Remote", "client-key": key])
        let first = try television.registration(clientKey: nil)
        #expect(
            try JSONDecoder().decode([String: String].self, from: #require(first.httpBody))
                == ["name": "LG TV Remote"])
    }

    @Test func `the URL contains an IPv6 address in brackets`() throws {
        let television = Television(ipAddress: "fe80::1", port: 80, timeLimit: .seconds(60))
        #expect(
            try television.registration(clientKey: nil).url?.absoluteString
                == "http://[fe80::1]:80/register")
    }

    @Test(arguments: ["", "a b", "10.0.0.14/", "me@10.0.0.14", "fe80::1/"])
    func `registering at an invalid address throws invalidAddress`(_ address: String) async throws {
        let television = Television(ipAddress: address, port: 3000, timeLimit: .seconds(60))
        await #expect(throws: LGTVControlError.invalidAddress) {
            try await television.register(clientKey: nil)
        }
    }

    @Test func `each error has its own text, and the text for a refused key says what to do`() {
        let errors: [LGTVControlError] = [
            .declined, .keyRefused, .noAnswer, .unreachable, .invalidAddress,
            .unexpectedAnswer(500),
        ]
        #expect(Set(errors.map(\.localizedDescription)).count == 6)
        #expect(LGTVControlError.keyRefused.localizedDescription.contains("Clear it in the app"))
        #expect(LGTVControlError.unexpectedAnswer(500).localizedDescription.contains("500"))
    }
}
