// What an attacker learns by intercepting the communication between a process and its TPM.

#if TPM

import Crypto
import Foundation
import Glibc
import KeychainCrypto
import KeychainCore
@testable import KeychainTPM
import Synchronization
import Testing

/// Relays and records all traffic to and from a chip.
final class Listener: Sendable {
    let path: String
    private let chipPath: String
    private let descriptor: Int32
    private let heard = Mutex<[UInt8]>([])
    private let loss = Mutex(Loss.none)

    /// Whether a command is dropped together with its connection.
    private enum Loss: Equatable {
        case none
        /// A command will be dropped after this number of other commands.
        case armed(after: Int)
        case lost
    }

    init(to chip: SimulatedChip) throws {
        chipPath = chip.socketPath
        path = chipPath + "-heard"
        descriptor = try LocalSocket.listening(at: path)
        // The control channel bypasses the listener.
        try FileManager.default.createSymbolicLink(
            atPath: path + ".ctrl", withDestinationPath: chipPath + ".ctrl")
        Thread.detachNewThread { [self] in
            while let client = LocalSocket.accepted(by: descriptor) { pass(client) }
            close(descriptor)
        }
    }

    /// Ends the thread that accepts connections.
    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// All traffic so far, in both directions.
    var bytes: Data { Data(heard.withLock { $0 }) }

    /// The codes of all messages so far: the command codes of commands, and the response codes of
    /// responses. Both are at the same offset in their messages.
    var commandCodes: [UInt32] {
        var codes: [UInt32] = []
        var rest = Array(heard.withLock { $0 })[...]
        while rest.count >= 10 {
            let head = Array(rest.prefix(10))
            let number = { (bytes: ArraySlice<UInt8>) in bytes.reduce(0) { $0 << 8 | UInt32($1) } }
            codes.append(number(head[6...]))
            rest = rest.dropFirst(max(10, Int(number(head[2..<6]))))
        }
        return codes
    }

    /// Drops one command after relaying `count` other commands.
    func loseCommand(after count: Int) { loss.withLock { $0 = .armed(after: count) } }

    /// Whether a command has been dropped.
    var hasLostCommand: Bool { loss.withLock { $0 == .lost } }

    private func isLost() -> Bool {
        loss.withLock { loss in
            guard case .armed(let count) = loss else { return false }
            loss = count > 0 ? .armed(after: count - 1) : .lost
            return count == 0
        }
    }

    /// Relays commands and responses in turn, because the library sends one command at a time.
    private func pass(_ client: Int32) {
        defer { close(client) }
        guard let chip = try? LocalSocket.connected(to: chipPath) else { return }
        defer { close(chip) }
        while let command = message(from: client), !isLost(), LocalSocket.send(command, to: chip),
            let answer = message(from: chip), LocalSocket.send(answer, to: client)
        {}
    }

    /// Receives a command or a response. Each consists of a tag (2 bytes), the size of the message
    /// (4 bytes), and the rest.
    private func message(from descriptor: Int32) -> [UInt8]? {
        var message: [UInt8] = []
        while message.count < 6
            || message.count < message[2..<6].reduce(0, { $0 << 8 | Int($1) })
        {
            guard let more = LocalSocket.receive(from: descriptor) else { return nil }
            message += more
        }
        heard.withLock { $0 += message }
        return message
    }
}

@Suite struct `Communication between process and chip` {
    @Test func `authorizations and secrets are encrypted between process and chip`() throws {
        let chip = try SimulatedChip()
        let listener = try Listener(to: chip)
        defer { listener.stop() }
        let module = TrustedPlatformModule(configuration: "swtpm:path=\(listener.path)")
        let authorization = SecretBytes.random(byteCount: 32)
        let secret = SecretBytes.random(byteCount: 32)
        let other = P256.KeyAgreement.PrivateKey()
        let digest = Data(SHA256.hash(data: Data("digest".utf8)))

        let key = try module.makeKey(authorization: authorization)
        let signature = try module.sign(
            digest: digest, with: key.wrapped, authorization: authorization)
        let shared = try module.sharedSecret(
            of: key.wrapped, with: other.publicKey.x963Representation,
            authorization: authorization)
        let sealed = try module.seal(secret)
        #expect(try module.unseal(sealed).isEqual(to: secret))

        let heard = listener.bytes
        func isHeard(_ bytes: some Collection<UInt8>) -> Bool {
            heard.range(of: Data(bytes)) != nil
        }
        // The listener works: it heard the values that aren't secret.
        #expect(isHeard(signature.prefix(32)))
        #expect(isHeard(signature.suffix(32)))
        #expect(isHeard(key.publicKey.dropFirst().prefix(32)))
        #expect(!isHeard(authorization.plainBytes))
        #expect(!isHeard(authorization.plainBytes.prefix(8)))
        #expect(!isHeard(shared.plainBytes))
        #expect(!isHeard(secret.plainBytes))
        #expect(!isHeard(digest))
    }

    /// The steps at which the connection breaks are reading the storage key, deriving the storage
    /// key, opening a session, and loading the key.
    ///
    /// A resource manager would flush the objects of a broken connection, but this chip has no
    /// resource manager. An object that was loaded before the break stays loaded until the chip is
    /// restarted.
    @Test(arguments: 0..<4)
    func `a broken connection to the chip is opened again`(_ step: Int) throws {
        let chip = try SimulatedChip()
        let listener = try Listener(to: chip)
        defer { listener.stop() }
        let module = TrustedPlatformModule(configuration: "swtpm:path=\(listener.path)")
        let authorization = SecretBytes.random(byteCount: 32)
        let key = try module.makeKey(authorization: authorization)
        let digest = Data(SHA256.hash(data: Data()))

        listener.loseCommand(after: step)
        _ = try module.sign(digest: digest, with: key.wrapped, authorization: authorization)
        #expect(listener.hasLostCommand)
        let connection = try chip.connection()
        let objects = try connection.handles(from: 0x8000_0000, atMost: 10).count
        #expect(objects == (step < 2 ? 0 : 1))
    }
}

#endif
