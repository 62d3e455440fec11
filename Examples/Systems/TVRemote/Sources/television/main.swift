// television: stands in for a television that asks its user before it accepts a program.
//
// It answers two requests:
//
//   POST /register {"name": …}: it asks the user.
//   POST /register {"name": …, "client-key": …}: 200 if it issued this key, otherwise 401.
//
// The command line specifies the user's answers, in order. "accept" sends 200 and a new key, "late"
// the same after one second, "decline" 403 and "fail" 500.
//
// It keeps the keys that it issued in television.json, even while it is off. Without that file, it
// behaves like a television that was reset.

import Foundation
import StandIn

await StandIn(
    "television", answers: ["accept", "decline", "late", "fail"], portVariable: "LGTV_PORT",
    port: 3000
) { request, memory in
    guard request.line == "POST /register", let name = request.body["name"] else {
        return StandInResponse(404)
    }
    if let key = request.body["client-key"] {
        return StandInResponse(memory.values[key] == nil ? 401 : 200)
    }
    let answer = memory.nextAnswer()
    switch answer {
    case "decline": return StandInResponse(403)
    case "fail": return StandInResponse(500)
    default:
        let key = UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        memory.values[key] = name
        let delay = Duration.seconds(answer == "late" ? 1 : 0)
        return StandInResponse(200, ["client-key": key], after: delay)
    }
}.main()
