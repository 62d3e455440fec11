// TestLink: a TCP proxy in front of one server. A test can cut, silence and restore the proxy.
//   (1) The link passes bytes on unchanged, so TLS runs between the client and the server.
//   (2) While the link is silent, connections are still made, and the system still accepts bytes.
//       The bytes are passed on once the link is restored, unless the connection was reset before.

#if Synchronization

import Glibc
import NIOCore
import NIOPosix
import Synchronization

package final class TestLink: Sendable {
    private struct State {
        var listener: (any Channel)?
        var isSilent = false
        /// The two channels of each connection: one to the client and one to the server.
        var connections: [ObjectIdentifier: any Channel] = [:]
    }

    package let port: Int
    private let target: Int
    private let state = Mutex(State())

    /// Opens a link to a port on loopback.
    ///
    /// - Parameters:
    ///   - port: The link's own port. `nil` for any port that is free now. The test may have
    ///     chosen the same port for a program that starts later; that program then can't listen
    ///     on it.
    ///   - target: The port to which the bytes are passed on.
    /// - Throws: The system's error if the link can't listen at its port.
    package init(at port: Int? = nil, to target: Int) async throws {
        self.target = target
        self.port = port ?? Int(FreePorts.some(1)[0])
        try await listen()
    }

    deinit { state.withLock { $0.listener }?.close(promise: nil) }

    package var endpoint: String { "https://127.0.0.1:\(port)" }

    private func listen() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { [weak self] incoming in
                self?.connect(incoming) ?? incoming.close()
            }
            .bind(host: "127.0.0.1", port: port).get()
        state.withLock { $0.listener = listener }
    }

    private func connect(_ incoming: any Channel) -> EventLoopFuture<Void> {
        ClientBootstrap(group: incoming.eventLoop)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: target)
            .flatMapThrowing { outgoing in
                try incoming.pipeline.syncOperations.addHandler(PassingOn(to: outgoing))
                try outgoing.pipeline.syncOperations.addHandler(PassingOn(to: incoming))
                self.begin([incoming, outgoing])
            }
    }

    private func begin(_ connection: [any Channel]) {
        state.withLock { state in
            for end in connection {
                state.connections[ObjectIdentifier(end)] = end
                Self.setReading(end, !state.isSilent)
            }
        }
        for end in connection {
            end.closeFuture.whenComplete { [weak self] _ in
                self?.state.withLock { $0.connections[ObjectIdentifier(end)] = nil }
            }
        }
    }

    /// Makes a channel begin or stop reading. The change takes place later, on the channel's event
    /// loop. Several changes take place in the order of the calls. All callers hold the lock of
    /// `state`, so the last call agrees with `isSilent`. A channel that begins to read also gets
    /// the bytes that arrived before.
    private static func setReading(_ channel: any Channel, _ isReading: Bool) {
        channel.eventLoop.execute {
            channel.setOption(.autoRead, value: isReading).whenFailure { _ in
                channel.close(promise: nil)
            }
        }
    }

    // MARK: For tests

    /// Resets all connections. Unless the link is cut, it accepts new ones.
    package func reset() {
        for end in state.withLock({ Array($0.connections.values) }) {
            let reset = (end as? any SocketOptionProvider)?
                .setSoLinger(linger(l_onoff: 1, l_linger: 0))
            (reset ?? end.eventLoop.makeSucceededVoidFuture()).whenComplete { _ in
                end.close(promise: nil)
            }
        }
    }

    /// Resets all connections, and refuses new ones.
    package func cut() async throws {
        let listener = state.withLock { state in
            defer { state.listener = nil }
            return state.listener
        }
        try await listener?.close()
        reset()
    }

    /// Stops passing bytes on, in both directions.
    package func silence() { setSilent(true) }

    /// Ends the effect of `cut` and `silence`: the link accepts connections and passes bytes on.
    package func restore() async throws {
        if state.withLock({ $0.listener == nil }) { try await listen() }
        setSilent(false)
    }

    private func setSilent(_ isSilent: Bool) {
        state.withLock { state in
            state.isSilent = isSilent
            for end in state.connections.values { Self.setReading(end, !isSilent) }
        }
    }
}

/// One direction of a connection.
private final class PassingOn: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

#endif
