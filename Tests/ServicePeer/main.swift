// service-peer: a process at the other end of the service's socket, honest or not.

import Foundation
import KeychainCore

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
    case "vanish": _ = try Trick(socket: arguments[1]).connected()
    case "wait": while readLine() != nil {}
    default: exit(64)
    }
} catch {
    acknowledge("failed: \(error)")
    exit(1)
}
