// The errors that callers get for response codes of the TPM.

#if TPM

import KeychainCore
@testable import KeychainTPM
import Testing

struct ResponseRow: CustomStringConvertible, Sendable {
    let code: UInt32
    let command: ResponseFailure.Command
    let status: Status
    let cause: KeychainFailure.Cause
    let meaning: ResponseFailure.Meaning

    init(
        _ code: UInt32, _ command: ResponseFailure.Command, _ meaning: ResponseFailure.Meaning,
        _ status: Status, _ cause: KeychainFailure.Cause = .other
    ) {
        self.code = code
        self.command = command
        self.meaning = meaning
        self.status = status
        self.cause = cause
    }

    var description: String { "0x\(String(code, radix: 16)) of \(command.rawValue)" }
}

@Suite struct `Response codes` {
    /// Response codes from a simulated chip, and from TPM 2.0 Library, part 2, tables 16 and 17.
    static let rows = [
        ResponseRow(0x1DF, .load, .foreign, .decode, .damage),
        ResponseRow(0x2DF, .load, .foreign, .decode, .damage),
        ResponseRow(0x1D5, .load, .damaged, .decode, .damage),  // size
        ResponseRow(0x2C4, .load, .damaged, .decode, .damage),  // value
        ResponseRow(0x2E7, .load, .damaged, .decode, .damage),  // point
        ResponseRow(0x1E5, .load, .damaged, .decode, .damage),  // binding
        ResponseRow(0x155, .load, .damaged, .decode, .damage),  // sensitive
        ResponseRow(0x9000B, .encode, .damaged, .decode, .damage),
        ResponseRow(0x98E, .sign, .unauthorized, .decode, .damage),
        ResponseRow(0x9A2, .sign, .unauthorized, .decode, .damage),
        ResponseRow(0x98E, .agree, .unauthorized, .decode, .damage),
        ResponseRow(0x9A2, .unseal, .unauthorized, .decode, .damage),
        ResponseRow(0x9A2, .createStorageKey, .ownerPassword, .notAvailable, .permission),
        ResponseRow(0x98E, .load, .ownerPassword, .notAvailable, .permission),
        ResponseRow(0x98E, .create, .ownerPassword, .notAvailable, .permission),
        ResponseRow(0x1E7, .agree, .badPoint, .param),
        ResponseRow(0x154, .agree, .badPoint, .param),
        ResponseRow(0x154, .sign, .other, .notAvailable),
        ResponseRow(0x902, .load, .busy, .notAvailable, .contention),  // object memory
        ResponseRow(0x903, .startSession, .busy, .notAvailable, .contention),
        ResponseRow(0x904, .load, .busy, .notAvailable, .contention),
        ResponseRow(0x905, .startSession, .busy, .notAvailable, .contention),
        ResponseRow(0x906, .createStorageKey, .busy, .notAvailable, .contention),
        ResponseRow(0x908, .sign, .busy, .notAvailable, .contention),  // yielded
        ResponseRow(0x90A, .sign, .busy, .notAvailable, .contention),  // testing
        ResponseRow(0x910, .load, .busy, .notAvailable, .contention),  // object not loaded
        ResponseRow(0x918, .sign, .busy, .notAvailable, .contention),
        ResponseRow(0x922, .sign, .busy, .notAvailable, .contention),  // retry
        ResponseRow(0xB0902, .load, .busy, .notAvailable, .contention),  // resource manager
        ResponseRow(0xC0902, .load, .busy, .notAvailable, .contention),
        ResponseRow(0x921, .createStorageKey, .lockedOut, .notAvailable, .contention),
        ResponseRow(0xA000A, .connect, .broken, .notAvailable),  // input or output
        ResponseRow(0xA0008, .sign, .broken, .notAvailable),  // no connection
        ResponseRow(0x100, .capability, .other, .notAvailable),  // not started
        ResponseRow(0x101, .sign, .other, .notAvailable),  // failure mode
        ResponseRow(0x18B, .load, .other, .notAvailable),  // handle
        ResponseRow(0x143, .sign, .other, .notAvailable),  // no such command
        ResponseRow(0x7000D, .unseal, .other, .notAvailable),
        ResponseRow(0xFFFF_FFFF, .sign, .other, .notAvailable),
        ResponseRow(0, .compareStorageKey, .otherChip, .decode, .otherMachine),
    ]

    @Test func `each listed response code gives its error, and every meaning is listed`() {
        var ran = 0
        var seen: Set<ResponseFailure.Meaning> = []
        for row in Self.rows {
            let failure = ResponseFailure(code: row.code, command: row.command)
            #expect(failure.meaning == row.meaning, "\(row)")
            let shown = KeychainFailure(failure, text: "the text")
            #expect(shown.status == row.status, "\(row)")
            #expect(shown.cause == row.cause, "\(row)")
            #expect(!shown.reason.isEmpty, "\(row)")
            seen.insert(failure.meaning)
            ran += 1
        }
        #expect(ran == 40)
        #expect(seen == Set(ResponseFailure.Meaning.allCases))
    }

    /// A command without an object from the caller must never report damage, whatever the chip
    /// answers. Otherwise, an intact item would be treated as damaged. Comparing storage keys is
    /// excluded, because no chip performs that comparison.
    @Test(arguments: ResponseFailure.Command.allCases.filter { $0 != .compareStorageKey })
    func `only commands that take an object can report it as damaged`(
        _ command: ResponseFailure.Command
    ) {
        let takesObject: Set<ResponseFailure.Command> = [.load, .sign, .agree, .unseal, .encode]
        var statuses: Set<Status> = []
        for layer in 0...15 as ClosedRange<UInt32> {
            for code in 0...0xFFF as ClosedRange<UInt32> {
                let failure = ResponseFailure(code: layer << 16 | code, command: command)
                statuses.insert(KeychainFailure(failure, text: "").status)
            }
        }
        #expect(statuses.contains(.notAvailable))
        #expect(statuses.contains(.decode) == takesObject.contains(command))
        #expect(statuses.contains(.param) == (command == .agree))
    }
}

#endif
