// D-Bus: valid and invalid messages, and the path of the bus's socket.

import KeychainCrypto
import Testing

@testable import KeychainTool

@Suite struct `D-Bus` {
    /// A reply to call 7 with signature `a{sv}`, in either byte order: text, a number and bytes.
    private static func answer(isLittleEndian: Bool) -> [UInt8] {
        func number(_ value: UInt32) -> [UInt8] {
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
            return isLittleEndian ? bytes : bytes.reversed()
        }
        func text(_ text: String) -> [UInt8] {
            number(UInt32(text.utf8.count)) + Array(text.utf8) + [0]
        }
        func padded(_ bytes: [UInt8], to size: Int) -> [UInt8] {
            bytes + Array(repeating: 0, count: (size - bytes.count % size) % size)
        }
        let serial: [UInt8] = [5, 1, UInt8(ascii: "u"), 0] + number(7)
        let signature: [UInt8] = [8, 1, UInt8(ascii: "g"), 0, 5] + Array("a{sv}".utf8) + [0]
        var entries = padded(text("a") + [1, UInt8(ascii: "s"), 0], to: 4) + text("ö")
        entries = padded(entries, to: 8)
        entries += padded(text("b") + [1, UInt8(ascii: "u"), 0], to: 4) + number(9)
        entries = padded(entries, to: 8)
        entries += padded(text("c") + [2] + Array("ay".utf8) + [0], to: 4)
        entries += number(2) + [0, 255]
        let body = number(UInt32(entries.count)) + [0, 0, 0, 0] + entries
        let fields = serial + signature
        return padded(
            [UInt8(ascii: isLittleEndian ? "l" : "B"), 2, 1, 1] + number(UInt32(body.count))
                + number(1) + number(UInt32(fields.count)) + fields, to: 8) + body
    }

    @Test(arguments: [true, false]) func `a reply is decoded`(isLittleEndian: Bool) throws {
        let bytes = Self.answer(isLittleEndian: isLittleEndian)
        #expect(DBusMessage.size(Array(bytes.prefix(16))) == bytes.count)
        let message = try #require(DBusMessage(bytes))
        #expect(message.kind == .answer && message.answered == 7)
        #expect(
            message.body.first?.dictionary
                == ["a": .text("ö"), "b": .number(9), "c": .bytes([0, 255])])
    }

    @Test func `a call is encoded as a message that can be decoded`() throws {
        let method = DBusMethod(destination: "d.e", path: "/p", interface: "i.j", name: "M")
        let bytes = method.call([.string("ä"), .variant(""), .objectPath("/x")], serial: 3)
        #expect(DBusMessage.size(Array(bytes.prefix(16))) == bytes.count)
        let message = try #require(DBusMessage(bytes))
        #expect(message.kind == .call && message.body == [.text("ä"), .text(""), .text("/x")])
    }

    @Test func `truncated messages are refused, and changed messages never cause a trap`() {
        for isLittleEndian in [true, false] {
            let whole = Self.answer(isLittleEndian: isLittleEndian)
            for end in whole.indices { #expect(DBusMessage(Array(whole[..<end])) == nil) }
            for index in whole.indices {
                for bit in 0..<8 {
                    var changed = whole
                    changed[index] ^= 1 << bit
                    _ = DBusMessage.size(Array(changed.prefix(16)))
                    _ = DBusMessage(changed)
                }
            }
        }
    }

    @Test(arguments: ["((", "a", "a{", "()", "a()", "z", "v", "s", "(s"])
    func `an invalid signature or a body that doesn't fit the signature is refused`(
        signature: String
    ) {
        var message = Self.message(signature: signature, body: Array(repeating: 0, count: 16))
        #expect(DBusMessage(message) == nil)
        message = Self.message(signature: signature, body: [])
        #expect(DBusMessage(message) == nil)
    }

    @Test func `the nesting depth of values is limited`() {
        let variants = Self.message(
            signature: "v", body: (0..<200).flatMap { _ in [1, UInt8(ascii: "v"), 0] })
        #expect(DBusMessage(variants) == nil)
        let brackets = String(repeating: "(", count: 120) + "y" + String(repeating: ")", count: 120)
        #expect(DBusMessage(Self.message(signature: brackets, body: [1])) == nil)
    }

    /// The header of this message declares the field with the body's signature as a string (`s`)
    /// instead of a signature (`g`): a string can be longer than 255 bytes.
    @Test(arguments: ["a", "("]) func `a signature longer than 255 bytes is refused`(code: String) {
        let number = { (value: Int) in (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        let count = 1 << 20
        var fields: [UInt8] = [8, 1, UInt8(ascii: "s"), 0] + number(count)
        fields += Array(repeating: Array(code.utf8)[0], count: count) + [0]
        let message =
            [UInt8(ascii: "l"), 2, 1, 1] + number(8) + number(1) + number(fields.count) + fields
        let padding = [UInt8](repeating: 0, count: (8 - message.count % 8) % 8 + 8)
        #expect(DBusMessage(message + padding) == nil)
    }

    private static func message(signature: String, body: [UInt8]) -> [UInt8] {
        let field: [UInt8] =
            [8, 1, UInt8(ascii: "g"), 0, UInt8(signature.utf8.count)] + Array(signature.utf8) + [0]
        var message: [UInt8] = [UInt8(ascii: "l"), 2, 1, 1, UInt8(body.count & 0xFF)]
        message += [UInt8(body.count >> 8), 0, 0, 1, 0, 0, 0, UInt8(field.count), 0, 0, 0] + field
        while !message.count.isMultiple(of: 8) { message.append(0) }
        return message + body
    }

    @Test func `the path of the bus is taken from its address variable or the runtime folder`() {
        func paths(_ address: String?, _ folder: String? = nil) -> [String] {
            var variables = ["DBUS_SESSION_BUS_ADDRESS": address ?? ""]
            variables["XDG_RUNTIME_DIR"] = folder
            return DBusConnection.paths(variables)
        }
        #expect(paths("unix:path=/run/a%20b,guid=0;unix:path=/c") == ["/run/a b", "/c"])
        #expect(paths("unix:guid=0,path=/c;tcp:host=x;unix:abstract=/y") == ["/c"])
        #expect(paths("unix:path=/%00").isEmpty && paths("unix:path=/%zz").isEmpty)
        #expect(paths(nil, "/run/user/1") == ["/run/user/1/bus"] && paths(nil).isEmpty)
    }
}
