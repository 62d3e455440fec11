// ChangeListenerTests: notifications of changes, and what happens to them when the connection
// breaks.

import Foundation
import KeychainCore
import KeychainWire
import Testing

@testable import KeychainRuntime

@Suite struct `Notifications of changes` {
    /// A service to which clients can subscribe.
    private struct Teller {
        let service: FakeService
        /// The subscribed connections, and the ids of the subscriptions.
        let subscribed: Recorded<(peer: FakePeer, id: UInt64)>
        let ended: Recorded<Int>

        /// - Parameter isHasty: Whether a change is reported before each subscription is answered.
        /// - Throws: If the socket can't be created.
        init(isHasty: Bool = false) throws {
            let subscribed = Recorded<(peer: FakePeer, id: UInt64)>()
            let ended = Recorded<Int>()
            service = try FakeService { peer, number in
                guard peer.greet() else { return }
                while let request = peer.request() {
                    guard case .subscribe = request.message else { break }
                    if isHasty { peer.reply(request.id, .changed) }
                    peer.reply(request.id, .answer(Done()))
                    subscribed.append((peer, request.id))
                }
                ended.append(number)
            }
            self.subscribed = subscribed
            self.ended = ended
        }

        func tell() {
            guard let (peer, id) = subscribed.values.last else { return }
            peer.reply(id, .changed)
        }
    }

    @Test func `a change calls every handler`() throws {
        let teller = try Teller()
        let client = ServiceClient(socketPath: teller.service.path)
        let (first, second) = (Recorded<Int>(), Recorded<Int>())
        let one = try client.subscribe { first.append(1) }
        let two = try client.subscribe { second.append(2) }
        #expect(teller.subscribed.waitForNext())
        teller.tell()
        #expect(first.waitForNext() && second.waitForNext())
        two.end()
        teller.tell()
        #expect(first.waitForNext())
        #expect(second.values.count == 1)
        // Both subscriptions used one connection.
        #expect(teller.subscribed.values.count == 1)
        one.end()
    }

    @Test func `a change that is reported before the answer doesn't end the subscription`() throws {
        let teller = try Teller(isHasty: true)
        let client = ServiceClient(socketPath: teller.service.path)
        let seen = Recorded<Int>()
        let subscription = try client.subscribe { seen.append(1) }
        #expect(teller.subscribed.waitForNext())
        teller.tell()
        #expect(seen.waitForNext())
        // The client subscribes again, and a change is again reported before the answer.
        teller.subscribed.values.last?.peer.hangUp()
        #expect(teller.subscribed.waitForNext() && seen.waitForNext())
        #expect(teller.subscribed.values.count == 2)
        subscription.end()
    }

    @Test func `the connection ends with the last subscription`() throws {
        let teller = try Teller()
        let client = ServiceClient(socketPath: teller.service.path)
        do {
            let subscription = try client.subscribe {}
            #expect(client.listener.isListening)
            withExtendedLifetime(subscription) {}
        }
        #expect(teller.ended.waitForNext())
        #expect(!client.listener.isListening)
        let seen = Recorded<Int>()
        let again = try client.subscribe { seen.append(1) }
        #expect(teller.subscribed.waitForNext() && teller.subscribed.waitForNext())
        teller.tell()
        #expect(seen.waitForNext())
        again.end()
    }

    @Test func `after a broken connection, the handler is called, and is called for later changes`()
        throws
    {
        let teller = try Teller()
        let client = ServiceClient(socketPath: teller.service.path)
        let seen = Recorded<Int>()
        let subscription = try client.subscribe { seen.append(1) }
        for _ in 0..<3 {
            #expect(teller.subscribed.waitForNext())
            teller.subscribed.values.last?.peer.hangUp()
            // The handler is called because a change may have been missed.
            #expect(seen.waitForNext())
        }
        #expect(teller.subscribed.waitForNext())
        teller.tell()
        #expect(seen.waitForNext())
        #expect(seen.values.count == 4)
        subscription.end()
    }

    @Test func `a refused subscription throws the service's error, and no handler is called`()
        throws
    {
        let failure = KeychainFailure(.unimplemented, "No.")
        let service = try FakeService { peer, _ in peer.serve { _ in .failure(failure) } }
        let client = ServiceClient(socketPath: service.path)
        let seen = #expect(throws: KeychainFailure.self) {
            _ = try client.subscribe { Issue.record("The handler was called.") }
        }
        #expect(seen == failure && !client.listener.isListening)
    }
}
