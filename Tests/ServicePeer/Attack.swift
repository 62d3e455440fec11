// Attack: attacks of a user's hostile program on the service, which try to make other clients wait.
// Each attack prints “begun” when it runs, and continues until the end of its standard input.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainWire

struct Attack {
    let socket: String

    struct Failure: Error {}

    func run(_ name: String, _ count: Int) throws {
        Self.raiseDescriptorLimit()
        switch name {
        case "half": try sendHalves(on: count, of: 1024) { answered() }
        case "large": try sendHalves(on: count, of: 16 << 20) { greeted() }
        case "silent": beSilent(on: count)
        case "idle": try beIdle(on: count)
        case "knock": try knock()
        case "refused": try beRefused()
        case "find": try flood(on: count, try Self.frames(of: Self.search))
        case "check": try flood(on: count, try Self.frames(of: CheckKeychain()))
        case "unlock":
            let wrong = Unlock(passcode: SecretBytes(copying: Array("wrong".utf8)))
            try flood(on: count, try Self.frames(of: wrong))
        default: throw Failure()
        }
    }

    // MARK: Connections

    private func connect(flags: __socket_type = SOCK_CLOEXEC) -> OwnedDescriptor? {
        guard let first = UnixSockets.make(flags: flags) else { return nil }
        return UnixSockets.connect(first, to: socket) ? first : nil
    }

    /// A connection whose challenge was answered, or `nil` if there is no connection, its challenge
    /// didn't arrive in time, or the answer couldn't be sent.
    private func answered(
        _ answer: ([UInt8]) -> [UInt8] = { $0 }, within milliseconds: Int32 = 1000
    ) -> OwnedDescriptor? {
        guard let first = connect(),
            Descriptor.ready(among: [first.number], milliseconds: milliseconds) == [true],
            let (bytes, given) = UnixSockets.receive(
                atMost: Handshake.byteCount, withDescriptorFrom: first.number),
            let given, UnixSockets.send(answer(bytes), to: given)
        else { return nil }
        return given
    }

    private func greeted() -> OwnedDescriptor? {
        guard let hello = try? ClientMessage.hello(ClientHello()).frame(id: 1),
            let connection = answered(), UnixSockets.send(Self.bytes(hello), to: connection),
            Descriptor.ready(among: [connection.number], milliseconds: 1000) == [true]
        else { return nil }
        return connection
    }

    /// Whether the test still wants the attack to continue.
    private func isWanted(_ milliseconds: Int32 = 0) -> Bool {
        Descriptor.ready(among: [STDIN_FILENO], milliseconds: milliseconds) != [true]
    }

    private func hold(_ connections: [OwnedDescriptor]) {
        acknowledge("begun \(connections.count)")
        while isWanted(100) {}
        _ = connections
    }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        // SAFETY: one structure, used within the calls.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return
        }
        limit.rlim_cur = limit.rlim_max
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    // MARK: Idle connections

    /// Opens up to `count` connections by calling `connection`, for about 2 seconds at most. On
    /// each connection, sends the first 7/8 of a message of `byteCount` bytes, or less if the
    /// service stops reading.
    private func sendHalves(
        on count: Int, of byteCount: UInt32, _ connection: () -> OwnedDescriptor?
    ) throws {
        var connections: [OwnedDescriptor] = []
        let header = (0..<4).map { UInt8(truncatingIfNeeded: byteCount >> (24 - 8 * $0)) }
        let half = [UInt8](repeating: 0, count: Int(byteCount) * 7 / 8)
        let begun = ContinuousClock.now
        while connections.count < count, begun.duration(to: .now) < .seconds(2) {
            guard let connection = connection(), UnixSockets.send(header, to: connection) else {
                continue
            }
            var rest = half[...]
            while !rest.isEmpty {
                // SAFETY: the bytes are read within the call.
                let sent = unsafe rest.withUnsafeBytes {
                    unsafe UnixSockets.send($0, to: connection.number, flags: Int(MSG_DONTWAIT))
                }
                if sent > 0 {
                    rest = rest.dropFirst(sent)
                } else if errno != EAGAIN
                    || Descriptor.ready(
                        among: [connection.number], for: Int32(POLLOUT), milliseconds: 20)
                        != [true]
                {
                    break
                }
            }
            connections.append(connection)
        }
        hold(connections)
    }

    /// Opens connections and leaves the challenges unanswered. A new connection replaces each
    /// connection that the service closes.
    private func beSilent(on count: Int) {
        var silent: [OwnedDescriptor] = []
        var isBegun = false
        while isWanted() {
            for _ in silent.count..<max(count, silent.count) {
                guard let next = connect(flags: SOCK_NONBLOCK) else { break }
                silent.append(next)
            }
            if !isBegun { acknowledge("begun \(silent.count)") }
            isBegun = true
            let ready =
                Descriptor.ready(among: silent.map(\.number), milliseconds: 5)
                ?? silent.map { _ in false }
            var byte: UInt8 = 0
            silent = zip(silent, ready).compactMap { connection, isReady in
                guard isReady else { return connection }
                // SAFETY: one byte is written within the call.
                let count = unsafe recv(
                    connection.number, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
                return count == 0 ? nil : connection
            }
        }
    }

    /// Opens connections, sends hello and then nothing.
    private func beIdle(on count: Int) throws {
        var connections: [OwnedDescriptor] = []
        let begun = ContinuousClock.now
        var failures = 0
        while connections.count < count, failures < 3, begun.duration(to: .now) < .seconds(9) {
            if let connection = greeted() {
                connections.append(connection)
            } else {
                failures += 1
            }
        }
        hold(connections)
    }

    // MARK: New connections

    /// Connects again and again.
    private func knock() throws {
        acknowledge("begun 1")
        while isWanted() { _ = greeted() }
    }

    /// Answers challenges wrongly, on one new connection after another. At the end, prints how many
    /// answers were sent.
    private func beRefused() throws {
        acknowledge("begun 1")
        var count = 0
        while isWanted() {
            if answered({ $0.map { ~$0 } }) != nil { count += 1 }
        }
        acknowledge("sent \(count)")
    }

    // MARK: Requests

    private static var search: FindItems {
        FindItems(
            ItemQuery(itemClass: .genericPassword),
            Retrieval(limit: nil, includesData: true))
    }

    private static func bytes(_ frame: FrameBuffer) -> [UInt8] {
        // SAFETY: copied within the call.
        unsafe frame.withUnsafeBytes { unsafe Array($0) }
    }

    private static func frames(of request: some Request) throws -> [UInt8] {
        let claim = AccessGroups(["default"])
        return try (0..<8).flatMap {
            bytes(try ClientMessage.frame(of: request, id: 2 + $0, claim: claim))
        }
    }

    /// Sends the same requests on all connections, as fast as the connections accept data.
    private func flood(on count: Int, _ frames: [UInt8]) throws {
        var connections: [(socket: OwnedDescriptor, sent: Int)] = []
        while connections.count < count, isWanted() {
            if let socket = greeted() { connections.append((socket, 0)) }
        }
        acknowledge("begun \(connections.count)")
        var answers = [UInt8](repeating: 0, count: 1 << 18)
        while isWanted() {
            for index in connections.indices {
                let socket = connections[index].socket.number
                // SAFETY: both arrays are used within their bounds, within the calls.
                let sent = unsafe frames[connections[index].sent...].withUnsafeBytes {
                    unsafe UnixSockets.send($0, to: socket, flags: Int(MSG_DONTWAIT))
                }
                if sent > 0 {
                    connections[index].sent = (connections[index].sent + sent) % frames.count
                }
                unsafe answers.withUnsafeMutableBytes {
                    unsafe _ = recv(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
                }
            }
            _ = Descriptor.ready(among: connections.map(\.socket.number), milliseconds: 2)
        }
    }
}
