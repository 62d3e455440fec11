// RawCommands: commands as bytes on the socket of a simulated chip, for what the keychain itself
// never asks of one. TPM 2.0 Library, part 3.

#if TPM

import Foundation
import Glibc
import KeychainCore
@testable import KeychainTPM

/// A command that a chip refused, or an answer that is none.
struct RawFailure: Error, Hashable {
    let code: UInt32
}

extension SimulatedChip {
    static let owner: UInt32 = 0x4000_0001

    /// Derives a storage key of the keychain's kind and leaves it in a slot. Another `unique`
    /// gives another key; none, the one that the keychain derives.
    func createPrimary(unique: [UInt8] = []) throws -> UInt32 {
        var template = Array(PublicArea.template(.storage).dropFirst(2).dropLast(4))
        template += unique.sized + [0, 0]
        let answer = try command(
            0x131, handles: [Self.owner], [0, 4, 0, 0, 0, 0] + template.sized + [0, 0, 0, 0, 0, 0])
        return answer.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Keeps an object under a number; or, if it is that number's, no longer.
    func evict(_ object: UInt32, _ number: UInt32) throws {
        _ = try command(0x120, handles: [Self.owner, object], Self.bytes(number))
    }

    func flush(_ object: UInt32) throws {
        _ = try exchange([0x80, 1] + Self.bytes(14) + Self.bytes(0x165) + Self.bytes(object))
    }

    /// Sets the owner's password.
    func setOwnerPassword(_ password: String) throws {
        _ = try command(0x129, handles: [Self.owner], Array(password.utf8).sized)
    }

    /// A command whose first handle has an empty password.
    private func command(
        _ code: UInt32, handles: [UInt32], _ parameters: [UInt8]
    ) throws -> [UInt8] {
        let password: [UInt8] = Self.bytes(0x4000_0009) + [0, 0, 0, 0, 0]
        let rest =
            Self.bytes(code) + handles.flatMap(Self.bytes)
            + Self.bytes(UInt32(password.count)) + password + parameters
        return try exchange([0x80, 2] + Self.bytes(UInt32(rest.count + 6)) + rest)
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// - Returns: What follows the header of the answer.
    private func exchange(_ bytes: [UInt8]) throws -> [UInt8] {
        let descriptor = try LocalSocket.connected(to: socketPath)
        defer { close(descriptor) }
        guard LocalSocket.send(bytes, to: descriptor),
            let answer = LocalSocket.receive(from: descriptor), answer.count >= 10
        else { throw RawFailure(code: .max) }
        let code = answer[6..<10].reduce(0) { $0 << 8 | UInt32($1) }
        guard code == 0 else { throw RawFailure(code: code) }
        return Array(answer[10...])
    }
}

#endif
