// PythonKeyring: Python's keyring with the encrypted file of keyrings.alt. It is used in two ways:
// in one long-lived process, and with a new process for each call. It can't list items.
//   (1) It is filled in one step, with the library's own encryption and format. Adding items one by
//       one would read and write the whole file for each.

import BenchmarkFigures
import Foundation

final class PythonKeyring: Peer {
    private let python: [String]
    private let variables: ChildProcess.Variables

    init(itemCount: Int, _ place: PeerPlace) throws {
        python = try place.python("encrypted_keyring.py")
        variables = ["HOME": place.disk, "XDG_DATA_HOME": place.disk]
        _ = try ChildProcess.run(
            python[0], python.dropFirst() + ["fill", "\(itemCount)"], variables)
    }

    var ways: [Way] {
        let (python, variables) = (python, variables)
        return [
            Way(name: "Python keyring", color: "#8a6d00", isWholeProcess: false) {
                try StayingProcess(
                    python[0], Array(python.dropFirst()), variables, lacks: [.list])
            },
            Way(name: "Python keyring, process", color: "#8a6d00", isWholeProcess: true) {
                WholeProcesses(program: python[0], variables: variables) { call, index in
                    let arguments = python.dropFirst() + [call.rawValue, "\(index)"]
                    return call == .list ? nil : .init(arguments: Array(arguments))
                }
            },
        ]
    }
}

extension PeerPlace {
    /// The program and the first arguments that run one of the peers' scripts.
    func python(_ script: String) throws -> [String] {
        let path = options.peers + "/" + script
        for needed in [options.python, path] where !FileManager.default.fileExists(atPath: needed) {
            throw ChildFailure(description: "there is no \(needed)")
        }
        return [options.python, path]
    }
}
