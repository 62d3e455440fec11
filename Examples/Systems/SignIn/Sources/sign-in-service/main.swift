// sign-in-service: stands in for Apple's sign-in. The command line determines how each
// `POST /sign-in` with an account is answered:
//   succeed   the identifier of the user
//   cancel    status 403, as if the user had canceled
//   fail      status 500
//   slow      the same as succeed, two seconds later

import StandIn

/// An opaque identifier in Apple's format. An account always has the same identifier.
func identifier(of account: String) -> String {
    // Two FNV-1a hashes with different offsets. The identifier must be stable, but is no secret.
    let halves = [0xCBF2_9CE4_8422_2325, 0x84222325_CBF29CE4].map { (offset: UInt64) in
        let hash = account.utf8.reduce(offset) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return "001234.\(halves.joined()).0907"
}

await StandIn(
    "sign-in-service", answers: ["succeed", "cancel", "fail", "slow"],
    portVariable: "SIGN_IN_PORT", port: 8755
) { request, memory in
    guard request.line == "POST /sign-in", let account = request.body["account"] else {
        return StandInResponse(404)
    }
    let credential = ["user": identifier(of: account)]
    switch memory.nextAnswer() {
    case "cancel": return StandInResponse(403, ["error": "user_cancelled_authorize"])
    case "fail": return StandInResponse(500)
    case "slow": return StandInResponse(200, credential, after: .seconds(2))
    default: return StandInResponse(200, credential)
    }
}.main()
