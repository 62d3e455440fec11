// StandIn: a small HTTP server on the loopback that stands in for a real one: a television, a
// backend, a sign-in service. Its caller says how it answers.
//
//   NAME on [ANSWER…]   starts it in the background, in this folder. Each request that needs a
//                       decision takes the next answer; the last one stays.
//   NAME off            stops it. What it has learned stays in NAME.json.
//   NAME log            prints the requests so far, and what each got.

import Foundation

/// What a stand-in was asked.
public struct StandInRequest: Sendable {
    /// The method and the path, as "POST /register".
    public let line: String
    /// The JSON object that was sent. Values are strings; empty if none was sent.
    public let body: [String: String]
}

/// What it answers.
public struct StandInResponse: Sendable {
    let status: Int
    let body: [String: String]
    let delay: Duration

    /// A response.
    ///
    /// - Parameters:
    ///   - status: The status code of HTTP.
    ///   - body: The members of the JSON object to send.
    ///   - delay: How long the caller waits for it.
    public init(_ status: Int, _ body: [String: String] = [:], after delay: Duration = .zero) {
        self.status = status
        self.body = body
        self.delay = delay
    }
}

/// What a stand-in knows while it answers. One request has it at a time.
public struct StandInMemory: Sendable {
    /// What it has learned. It is kept when the stand-in stops.
    public var values: [String: String] = [:]
    fileprivate var answers: ArraySlice<String> = []

    /// The next answer that the caller asked for.
    public mutating func nextAnswer() -> String {
        answers.count > 1 ? answers.removeFirst() : answers.first ?? ""
    }
}

/// A program that stands in for a server.
public struct StandIn: Sendable {
    /// The name of the program, and of its files.
    public let name: String
    /// The answers that it can be told to give. The first is its answer when it is told nothing.
    public let answers: [String]
    /// The TCP port on 127.0.0.1.
    public let port: UInt16
    let respond: @Sendable (StandInRequest, inout StandInMemory) -> StandInResponse

    /// A stand-in.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - answers: The answers that it can be told to give, the usual one first.
    ///   - portVariable: The environment variable that names another port.
    ///   - port: The port without that variable.
    ///   - respond: Answers one request. Requests are answered one after the other.
    public init(
        _ name: String, answers: [String], portVariable: String, port: UInt16,
        respond: @escaping @Sendable (StandInRequest, inout StandInMemory) -> StandInResponse
    ) {
        self.name = name
        self.answers = answers
        self.port = ProcessInfo.processInfo.environment[portVariable].flatMap(UInt16.init) ?? port
        self.respond = respond
    }

    /// Does what the command line says, then ends the process.
    public func main() async -> Never {
        let words = CommandLine.arguments.dropFirst()
        let chosen = Array(words.dropFirst())
        do {
            switch words.first {
            case "on" where chosen.allSatisfy(answers.contains):
                try turnOn(chosen)
            case "off" where chosen.isEmpty:
                try turnOff()
            case "log" where chosen.isEmpty:
                let log = (try? Data(contentsOf: file("log"))) ?? Data()
                try FileHandle.standardOutput.write(contentsOf: log)
            case "serve":
                try await serve(chosen.isEmpty ? answers.prefix(1) : chosen[...])
            default:
                let choices = answers.joined(separator: "|")
                throw StandInError("usage: \(name) on [\(choices)]… | off | log")
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(error is StandInError ? 64 : 1)
        }
        exit(0)
    }

    func file(_ suffix: String) -> URL { URL(filePath: "\(name).\(suffix)") }

    private func serve(_ answers: ArraySlice<String>) async throws {
        var memory = StandInMemory()
        if let data = try? Data(contentsOf: file("json")) {
            memory.values = try JSONDecoder().decode([String: String].self, from: data)
        }
        memory.answers = answers
        // One that its caller forgets, or can't stop any more, ends by itself.
        Task {
            try await Task.sleep(for: .seconds(600))
            exit(0)
        }
        try await StandInServer(standIn: self, memory: memory).run()
    }
}

struct StandInError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
