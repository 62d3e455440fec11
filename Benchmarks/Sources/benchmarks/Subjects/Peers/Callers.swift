// Callers: make calls to a store, either from one long-lived process or from a new process for each
// call.

import BenchmarkFigures
import Foundation

/// A long-lived process. Each line that it reads names a call and the indices for which it carries
/// out the call. The process answers with one line, which contains the duration of each call.
final class StayingProcess: Caller {
    private let name: String
    private let identifier: pid_t
    private let input = ChildProcess.pipe()
    private let output = ChildProcess.pipe()
    private let lacks: Set<PeerCall>

    init(
        _ program: String, _ arguments: [String], _ variables: ChildProcess.Variables,
        lacks: Set<PeerCall> = []
    ) throws {
        name = ([program] + arguments).joined(separator: " ")
        self.lacks = lacks
        identifier = try ChildProcess.start(
            program, arguments, variables, input: input, output: output)
    }

    /// The process ends when its input is closed.
    deinit {
        try? input.fileHandleForWriting.close()
        _ = try? ChildProcess.end(of: identifier)
    }

    func times(of call: PeerCall, _ indices: [Int]) throws -> [Double]? {
        guard !lacks.contains(call) else { return nil }
        let line = ([call.rawValue] + indices.map(String.init)).joined(separator: " ")
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        var answer = Data()
        while answer.last != UInt8(ascii: "\n") {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw ChildFailure(description: "\(name) ended") }
            answer += more
        }
        let text = String(decoding: answer.dropLast(), as: UTF8.self)
        guard let times = PeerAnswer.times(text, count: indices.count) else {
            throw ChildFailure(description: "\(name) wrote \"\(text)\"")
        }
        return times
    }
}

/// A new process for each call, measured from start to end.
struct WholeProcesses: Caller {
    struct Command {
        let arguments: [String]
        var input = ""
    }

    let program: String
    let variables: ChildProcess.Variables
    /// The arguments and the input of a call for the item with the given index. `nil` if the store
    /// has no such call.
    let command: (PeerCall, Int) -> Command?

    func times(of call: PeerCall, _ indices: [Int]) throws -> [Double]? {
        var times: [Double] = []
        for index in indices {
            guard let command = command(call, index) else { return nil }
            let run = try ChildProcess.run(
                program, command.arguments, variables, input: command.input, isQuiet: true)
            let isRight =
                switch call {
                case .save: true
                case .load: run.output.contains(PeerSample.secret(of: index))
                case .list: run.output.components(separatedBy: "account-").count > index
                }
            guard isRight else {
                throw ChildFailure(
                    description: "\(program) gave a wrong answer to the call \(call) \(index)")
            }
            times.append(run.duration)
        }
        return times
    }
}
