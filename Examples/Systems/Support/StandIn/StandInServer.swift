// StandInServer: the server of a stand-in. It decides on responses and logs them one at a time.
// A delayed response doesn't delay the response to the next request.

import FlyingFox
import Foundation

/// Handles requests, and saves the log and the state of the stand-in.
actor StandInServer {
    private let standIn: StandIn
    private var memory: StandInMemory

    init(standIn: StandIn, memory: StandInMemory) {
        self.standIn = standIn
        self.memory = memory
    }

    func run() async throws {
        let server = try HTTPServer(
            address: .inet(ip4: "127.0.0.1", port: standIn.port), timeout: 60, logger: .disabled)
        await server.appendRoute("*") { try await self.answer($0) }
        try await server.run()
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let data = try await request.bodyData
        let asked = StandInRequest(
            line: "\(request.method.rawValue) \(request.path)",
            body: (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:])
        let response = try decide(asked)
        try await Task.sleep(for: response.delay)
        return HTTPResponse(
            statusCode: HTTPStatusCode(response.status, phrase: ""),
            headers: [.contentType: "application/json"],
            body: try JSONEncoder().encode(response.body))
    }

    /// Decides on the response, and saves the state and the log before the response is sent.
    private func decide(_ request: StandInRequest) throws -> StandInResponse {
        let response = standIn.respond(request, &memory)
        try JSONEncoder().encode(memory.values)
            .write(to: standIn.file("json"), options: .atomic)
        let log = standIn.file("log")
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        let handle = try FileHandle(forWritingTo: log)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("\(request.line) \(response.status)\n".utf8))
        try handle.close()
        return response
    }
}
