// Quickstart: saves values of three types in the keychain, and loads, lists and deletes them.
// `Quickstart read SERVICE ACCOUNT` writes the text of an item to standard output. The item may
// have been saved by another program.

import Foundation
import Keychain

struct Session: Codable, Equatable {
    var user: String
    var startedAt: Date
}

extension KeychainKey where Value == String {
    static var token: Self { Self("token") }
}

extension KeychainKey where Value == Session {
    static var session: Self { Self("session", accessibility: .whenUnlockedThisDeviceOnly) }
}

extension KeychainKey where Value == UUID {
    static var device: Self { Self("device") }
}

struct Surprise: Error, CustomStringConvertible {
    var description: String
}

func expect(_ holds: Bool, _ sentence: String) throws {
    guard holds else { throw Surprise(description: "Not so: \(sentence).") }
    print("  \(sentence)")
}

func run() throws {
    let keychain = Keychain(service: "org.example.quickstart")
    try keychain.removeAll()

    print("Text, a Codable value and an identifier:")
    try keychain.save("s3cr3t", for: .token)
    try expect(keychain.load(.token) == "s3cr3t", "the token loads as it was saved")

    let session = Session(user: "alice", startedAt: Date(timeIntervalSince1970: 1_750_000_000))
    try keychain.save(session, for: .session)
    try expect(keychain.load(.session) == session, "the session loads as it was saved")

    let device = try keychain.load(.device, orAdd: { UUID() })
    try expect(
        keychain.load(.device, orAdd: { UUID() }) == device, "the identifier is made only once")

    print("Listing the items without reading a secret:")
    let accounts = try keychain.items().map(\.account).sorted()
    try expect(accounts == ["device", "session", "token"], "three items are listed")

    print("Deleting:")
    try keychain.delete(.token)
    try expect(keychain.load(.token) == nil, "the token is gone")
    try keychain.removeAll()
    try expect(keychain.items().isEmpty, "nothing is left")
}

func read(service: String, account: String) throws {
    guard let text = try Keychain(service: service).load(KeychainKey<String>(account)) else {
        throw Surprise(description: "There is no such item.")
    }
    FileHandle.standardOutput.write(Data(text.utf8))
}

do {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.count == 3, arguments.first == "read" {
        try read(service: CommandLine.arguments[2], account: CommandLine.arguments[3])
    } else {
        try run()
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
