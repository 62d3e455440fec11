// backend: stands in for the app's backend, with which the app registers devices.
//
// For each request, the program takes the next answer from its command line, and repeats the last
// answer when no other is left. With "ok", it carries out the request. With "fail" and "refuse", it
// does not. With "late", it carries out the request immediately but responds one second later.

import Foundation
import StandIn

await StandIn(
    "backend", answers: ["ok", "fail", "late", "refuse"], portVariable: "BACKEND_PORT", port: 3000
) { request, memory in
    let answer = memory.nextAnswer()
    if answer == "fail" { return StandInResponse(503, ["error": "try again later"]) }
    if answer == "refuse" { return StandInResponse(403, ["error": "not this device"]) }
    let delay: Duration = answer == "late" ? .seconds(1) : .zero

    let parts = request.line.split(separator: "/", maxSplits: 1).map(String.init)
    let identifier: String
    let isRegistration = parts == ["POST ", "devices"]
    if isRegistration {
        identifier = request.body["deviceId"] ?? ""
    } else if parts.first == "GET ", parts.count == 2, parts[1].hasPrefix("devices/") {
        identifier = String(parts[1].dropFirst("devices/".count))
    } else {
        return StandInResponse(405, after: delay)
    }
    guard let deviceId = UUID(uuidString: identifier)?.uuidString else {
        return StandInResponse(400, ["error": "no identifier"], after: delay)
    }
    let isKnown = memory.values[deviceId] != nil
    guard isKnown || isRegistration else { return StandInResponse(404, after: delay) }
    memory.values[deviceId] = "registered"
    return StandInResponse(isKnown ? 200 : 201, ["deviceId": deviceId], after: delay)
}.main()
