// StandIn: a small HTTP server on the loopback interface that stands in for a real server: a
// television, a backend or a sign-in service. The command line specifies the server's answers.
//
//   NAME on [ANSWER…]   starts the server in the background, in the current folder. Each request
//                       that needs a decision takes the next answer. The last answer is repeated.
//   NAME off            stops the server. Its state is kept in NAME.json.
//   NAME log            prints the requests so far, and the status of each response.

import Foundation

/// A request to a stand-in.
public struct StandInRequest: Sendable {
    /// The method and the path, such as "POST /register".
    public let line: String
    /// The JSON object in the request, whose values are strings. Empty if the request has no such
    /// object.
    public let body: [String: String]
}

/// A response of a stand-in.
public struct StandInResponse: Sendable {
    let status: Int
    let body: [String: String]
    let delay: Duration

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The HTTP status code.
    ///   - body: The members of the JSON object to send.
    ///   - delay: The delay before the response is sent.
    public init(_ status: Int, _ body: [String: String] = [:], after delay: Duration = .zero) {
        self.status = status
        self.body = body
        self.delay = delay
    }
}

/// The state of a stand-in, to which one request at a time has access.
public struct StandInMemory: Sendable {
    /// Values that persist when the stand-in is stopped.
    public var values: [String: String] = [:]
    fileprivate var answers: ArraySlice<String> = []

    /// Returns the next answer that the command line specified.
    public mutating func nextAnswer() -> String {
        answers.count > 1 ? answers.removeFirst() : answers.first ?? ""
    }
}

/// A program that stands in for a server.
public struct StandIn: Sendable {
    /// The name of the program, and of its files without their extensions.
    public let name: String
    /// The answers that the command line can specify. The first answer is the default.
    public let answers: [String]
    /// The TCP port on 127.0.0.1.
    public let port: UInt16
    let respond: @Sendable (StandInRequest, inout StandInMemory) -> StandInResponse

    /// Creates a stand-in.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - answers: The answers that the command line can specify, starting with the default.
    ///   - portVariable: The environment variable that specifies another port.
    ///   - port: The default port.
    ///   - respond: Handles a request. Requests are handled one after the other.
    public init(
        _ name: String, answers: [String], portVariable: String, port: UInt16,
        respond: @escaping @Sendable (StandInRequest, inout StandInMemory) -> StandInResponse
    ) {
        self.name = name
        self.answers = answers
        self.port = ProcessInfo.processInfo.environment[portVariable].flatMap(UInt16.init) ?? port
        self.respond = respond
    }

    /// Carries out the command line, then exits.
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
        // A server that is never turned off exits after ten minutes.
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
