// IdleTests: which connections the service closes after a timeout, and how clients reconnect.

import Foundation
import Glibc
import KeychainCore
import KeychainRuntime
import KeychainWire
import Testing

@testable import KeychainDaemon

@Suite struct `Idle connections` {
    /// Long enough for a request, even on a machine under load.
    private static let limit: Duration = .seconds(1)

    private static func service() throws -> TestService {
        try TestService {
            $0.limits.connectionIdleTime = limit
            $0.limits.answerTime = limit
        }
    }

    @Test func `an idle connection is closed after a timeout, and its client is notified`() throws {
        let service = try Self.service()
        let client = try RawClient(service.configuration.socket)
        try client.greet()
        let reply = try client.reply()
        #expect(reply.id == 0 && reply.kind == .closing)
        #expect(try client.isClosed())
        try eventually("the connection is freed") { service.server.connectionCount == 0 }
    }

    @Test func `an idle connection with an incomplete message is closed`() throws {
        let service = try Self.service()
        let client = try RawClient(service.configuration.socket)
        try client.greet()
        try client.send([0, 0, 1, 0, 7, 7])
        #expect(try client.reply().kind == .closing)
    }

    @Test func `a connection without any request is closed after the shorter handshake timeout`()
        throws
    {
        let service = try TestService { $0.limits.handshakeTime = Self.limit }
        let client = try RawClient(service.configuration.socket)
        #expect(try client.reply().kind == .closing)
        #expect(try client.isClosed())
    }

    @Test func `connections that are used, or that subscribe to changes, stay open`() throws {
        let service = try Self.service()
        let subscriber = try RawClient(service.configuration.socket)
        try subscriber.greet()
        #expect(try subscriber.tell(2, .subscribe).kind == .answer)
        let user = try RawClient(service.configuration.socket)
        try user.greet()
        for number in 0..<30 {
            let reply = try user.ask(2 + UInt64(number), HasPasscode())
            try #require(reply.kind == .answer)
            usleep(100_000)
        }
        #expect(try user.reply().kind == .closing)
        #expect(try subscriber.ask(3, HasPasscode()).kind == .answer)
    }

    // When the service closes a connection, it tells the client so. The client then knows that a
    // change which it has sent in the meantime was not carried out, and can send the change again
    // without making it twice.
    @Test func `a client reconnects to make a change after an idle connection was closed`() throws {
        let service = try Self.service()
        let client = service.client()
        for number in 0..<3 {
            _ = try client.perform(
                AddItem(password("\(number)", "x")), as: AccessGroups(["default"]))
            try eventually("the connection is closed") { service.server.connectionCount == 0 }
        }
        #expect(service.log.all.count { $0.contains("add") && $0.contains("status=0") } == 3)
    }

    @Test
    func `a connection that doesn't read an answer is closed, which ends the wait of requests`()
        throws
    {
        let service = try TestService {
            $0.limits.answerTime = Self.limit
            $0.limits.answersOnTheirWay = 1 << 20
        }
        let groups = AccessGroups(["default"])
        let value = String(repeating: "x", count: 4 << 20)
        _ = try service.client().perform(AddItem(password("large", value)), as: groups)
        let hung = try RawClient(service.configuration.socket)
        try hung.greet()
        let find = FindItems(ItemQuery(itemClass: .genericPassword), Retrieval(includesData: true))
        try hung.send(try hung.request(2, find, as: ["default"]))
        try eventually("the request was answered") {
            service.log.all.contains { $0.contains("find") && $0.contains("status=0") }
        }
        // Another request of the same user waits until the connection `hung`, which reads nothing
        // more, is closed.
        let start = ContinuousClock.now
        #expect(try service.client().load("large", as: groups)?.utf8.count == value.utf8.count)
        #expect(start.duration(to: .now) > Self.limit / 4)
        #expect(service.log.all.contains { $0.contains("doesn't receive the data sent to it") })
        withExtendedLifetime(hung) {}
    }
}
