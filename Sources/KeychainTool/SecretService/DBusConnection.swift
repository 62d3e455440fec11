// DBusConnection: a connection to the user's bus, for sequential calls.
//   (1) Source: D-Bus Specification 0.43, "Authentication Protocol" and "Server Addresses". The bus
//       must have a Unix socket with a path; it authenticates the user of this process.
//   (2) The bus and the programs on it may fail or be hostile: each read has a timeout, and a
//       message that can't be decoded is an error. Messages that don't reply to the call are
//       ignored.

import Glibc
import KeychainCore
import KeychainCrypto

/// The reason why a call has no result.
enum DBusFailure: Error, Equatable {
    /// No bus accepts connections at the paths in `DBUS_SESSION_BUS_ADDRESS` or, if that is not
    /// set, in the folder `XDG_RUNTIME_DIR`.
    case noBus
    /// The connection was closed, the bus rejected this user, no reply arrived in time, or a
    /// message is invalid.
    case broken
    /// An error from the bus or from the called program, with its name and message.
    case answered(name: String, text: String)
}

struct DBusConnection {
    private let socket: OwnedDescriptor
    private var lastSerial: UInt32 = 0

    /// The timeout for each read, in milliseconds. libdbus has the same default timeout for
    /// replies.
    private static let patience: Int32 = 25_000

    /// Connects to the user's bus.
    init(_ environment: [String: String] = ProcessEnvironment.variables) throws(DBusFailure) {
        guard let socket = UnixSockets.make(),
            Self.paths(environment).contains(where: { UnixSockets.connect(socket, to: $0) })
        else { throw .noBus }
        self.socket = socket
        let user = String(getuid()).utf8.map { String($0, radix: 16) }.joined()
        try send(Array("\0AUTH EXTERNAL \(user)\r\n".utf8))
        guard try line().hasPrefix("OK ") else { throw .broken }
        try send(Array("BEGIN\r\n".utf8))
        _ = try call(
            DBusMethod(
                destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus",
                interface: "org.freedesktop.DBus", name: "Hello"))
    }

    /// The paths of the bus's sockets, in the order in which they are tried.
    static func paths(_ environment: [String: String]) -> [String] {
        guard let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty else {
            return environment["XDG_RUNTIME_DIR"].map { [$0 + "/bus"] } ?? []
        }
        return address.split(separator: ";").compactMap { entry in
            guard entry.hasPrefix("unix:") else { return nil }
            let options = entry.dropFirst(5).split(separator: ",")
            return options.first { $0.hasPrefix("path=") }.flatMap { unescaped($0.dropFirst(5)) }
        }
    }

    /// Decodes percent-encoding, such as `%2f`.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                value != 0
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    // MARK: Calls

    /// Calls a method, and waits for its result.
    mutating func call(
        _ method: DBusMethod, _ arguments: DBusArgument...
    ) throws(DBusFailure) -> [DBusValue] {
        lastSerial += 1
        try send(method.call(arguments, serial: lastSerial))
        while true {
            let message = try message()
            guard message.answered == lastSerial else { continue }
            switch message.kind {
            case .answer: return message.body
            case .error:
                throw .answered(name: message.errorName, text: message.body.first?.text ?? "")
            case .call, .signal: continue
            }
        }
    }

    private func message() throws(DBusFailure) -> DBusMessage {
        let beginning = try receive(DBusMessage.beginning)
        guard let size = DBusMessage.size(beginning),
            let message = DBusMessage(beginning + (try receive(size - beginning.count)))
        else { throw .broken }
        return message
    }

    // MARK: Bytes

    private func send(_ bytes: [UInt8]) throws(DBusFailure) {
        guard UnixSockets.send(bytes, to: socket) else { throw .broken }
    }

    private func receive(_ count: Int) throws(DBusFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard
                Descriptor.wait(
                    for: socket.number, until: nil, milliseconds: Self.patience) == .readable,
                let next = Descriptor.bytes(atMost: count - bytes.count, of: socket.number),
                !next.isEmpty
            else { throw .broken }
            bytes += next
        }
        return bytes
    }

    /// Reads a line of the authentication protocol.
    private func line() throws(DBusFailure) -> String {
        var bytes: [UInt8] = []
        while !bytes.hasSuffix([13, 10]) {
            guard bytes.count < 1 << 14 else { throw .broken }
            bytes += try receive(1)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    fileprivate func hasSuffix(_ end: [UInt8]) -> Bool { suffix(end.count) == end[...] }
}
