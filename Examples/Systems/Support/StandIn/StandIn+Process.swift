// StandIn+Process: starts the server of a stand-in in the background, and stops it.

import Foundation

#if canImport(Glibc)
import Glibc
#endif

extension StandIn {
    /// Starts the server as a separate process and returns once it accepts connections.
    func turnOn(_ answers: [String]) throws {
        guard !isListening() else { throw StandInError("Port \(port) is taken.") }
        let server = Process()
        server.executableURL = try program()
        server.arguments = ["serve"] + answers
        server.standardInput = FileHandle.nullDevice
        server.standardOutput = FileHandle.nullDevice
        server.standardError = FileHandle.nullDevice
        try server.run()
        let end = ContinuousClock.now + .seconds(30)
        while !isListening() {
            guard server.isRunning, ContinuousClock.now < end else {
                throw StandInError("The \(name) did not start.")
            }
            usleep(2000)
        }
        try "\(server.processIdentifier)".write(
            to: file("pid"), atomically: true, encoding: .utf8)
        print("The \(name) is on.")
    }

    /// Stops the server and returns once it no longer accepts connections.
    func turnOff() throws {
        guard let text = try? String(contentsOf: file("pid"), encoding: .utf8),
            let process = Int32(text)
        else { throw StandInError("The \(name) is off.") }
        if try isServer(process) { kill(process, SIGKILL) }
        try FileManager.default.removeItem(at: file("pid"))
        let end = ContinuousClock.now + .seconds(30)
        while isListening() {
            guard ContinuousClock.now < end else {
                throw StandInError("Another program uses port \(port).")
            }
            usleep(2000)
        }
        print("The \(name) is off.")
    }

    /// Whether a process runs the stand-in's program. If the server has exited by itself, another
    /// process may have its process ID. On Apple platforms, this is not checked: the result is
    /// `true`.
    private func isServer(_ process: Int32) throws -> Bool {
        #if canImport(Darwin)
        return true
        #else
        let path = try program().path
        let target = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/\(process)/exe")
        // Linux appends " (deleted)" to the link's target if the program was rebuilt while the
        // server was running.
        return target == path || target == path + " (deleted)"
        #endif
    }

    private func program() throws -> URL {
        #if canImport(Darwin)
        guard let program = Bundle.main.executableURL else {
            throw StandInError("The program's file can't be found.")
        }
        return program
        #else
        URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        #endif
    }

    private func isListening() -> Bool {
        let descriptor = socket(AF_INET, Self.stream, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
    #else
    private static let stream = SOCK_STREAM
    #endif
}
