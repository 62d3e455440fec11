// service-peer: a client of the service, for tests. The first argument selects what it does: some
// of its actions are those of an honest client, others are attacks.

import Foundation
import KeychainCore
import KeychainCrypto

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    switch arguments.first {
    case "ask": try Asking(socket: arguments[1]).run(groups: Array(arguments.dropFirst(2)))
    case "write": try WritingLoop(socket: arguments[1], worker: Int(arguments[2]) ?? 0).run()
    case "use": try Using().run(Array(arguments.dropFirst()))
    case "hide": try Asking(socket: arguments[1]).runHidden()
    case "keep": Keeping().run()
    case "answer": try Trick(socket: "").answer(on: Int32(arguments[1]) ?? -1)
    case "leave": try Trick(socket: arguments[1]).leaveToChild(becoming: arguments[2])
    case "stay": try Trick(socket: arguments[1]).answerAndStay()
    case "activate":
        try Activation(socket: arguments[1]).become(arguments[2], Array(arguments.dropFirst(3)))
    case "become": try Trick(socket: arguments[1]).answerAndBecome(arguments[2])
    case "credential":
        try CredentialAsking(
            socket: arguments[1], unit: arguments[2], name: arguments[3]
        ).run()
    case "write-to": try Trick(socket: arguments[1]).becomeWriter(arguments[2])
    case "dictate":
        try Trick(socket: "").dictate(
            to: Int32(arguments[2]) ?? -1, of: Int32(arguments[3]) ?? -1,
            on: Int32(arguments[1]) ?? -1)
    case "lend": try Trick(socket: arguments[1]).lend(to: arguments[2])
    case "copy":
        while let part = try FileHandle.standardInput.read(upToCount: 4096), !part.isEmpty {
            guard Descriptor.write(Array(part), to: STDOUT_FILENO) else { exit(1) }
        }
    case "vanish": _ = try Trick(socket: arguments[1]).connected()
    case "attack":
        try Attack(socket: arguments[1]).run(arguments[2], Int(arguments[3]) ?? 1)
    case "wait": while readLine() != nil {}
    default: exit(64)
    }
} catch {
    acknowledge("failed: \(error)")
    exit(1)
}
