// MaskedProgram: a program that runs below this process, which passes its output on and puts a mark
// in the place of secrets.
//   (1) It has the same process group, terminal, input and working folder as without.
//   (2) Its output is read until nobody has it open any more, so that nothing is lost of what a
//       program in its background writes.
//   (3) Where nobody takes the output, the program is told as by any pipe: its end is closed.

import Glibc
import KeychainCrypto
import KeychainRuntime

struct MaskedProgram {
    let start: ProgramStart
    let concealment: Concealment

    /// Runs it to its end.
    ///
    /// - Returns: What this process ends with.
    /// - Throws: ``ControlFailure`` where it could not be started.
    func run() throws(ControlFailure) -> Int32 {
        let output = try passOn(to: STDOUT_FILENO)
        let errors = try passOn(to: STDERR_FILENO)
        ForwardedSignals.take()
        let (process, code) = ProcessProtection.withLimitOfCaller {
            start.spawn(output: output.descriptor.number, errors: errors.descriptor.number)
        }
        guard code == 0 else { throw .start(code) }
        ForwardedSignals.send(to: process)
        // The last that holds them but the program.
        output.descriptor.close()
        errors.descriptor.close()
        let status = ForwardedSignals.wait(for: process)
        ForwardedSignals.release()
        for end in [output.end, errors.end] {
            _ = Descriptor.wait(for: nil, until: end)
        }
        return status
    }

    /// Where the program writes to, and what happens when all of it was passed on.
    private struct Passage {
        let descriptor: OwnedDescriptor
        let end: Interruption
    }

    private func passOn(to target: Int32) throws(ControlFailure) -> Passage {
        let end = Interruption()
        let concealment = concealment
        guard end.descriptor != nil, let (reading, writing) = Descriptor.pipe(),
            Threads.start({
                Self.pass(from: reading, to: target, concealment)
                end.interrupt()
            })
        else {
            throw ControlFailure(
                .failure, "Can't mask the output: \(errorText(errno)). Nothing was started.")
        }
        return Passage(descriptor: writing, end: end)
    }

    private static func pass(
        from pipe: OwnedDescriptor, to target: Int32, _ concealment: Concealment
    ) {
        var concealment = concealment
        var isOpen = true
        defer { pipe.close() }
        while isOpen {
            let bytes = (try? [UInt8](readingFrom: pipe.number, atMost: 1 << 16)) ?? []
            isOpen = !bytes.isEmpty
            let passed = isOpen ? concealment.add(bytes) : concealment.finish()
            guard !Descriptor.write(passed, to: target, waits: true) else { continue }
            // Who has gone away needs no report.
            if errno != EPIPE, target != STDERR_FILENO {
                Output.report("Can't write the program's output: \(errorText(errno)).")
            }
            return
        }
    }
}

extension ControlFailure {
    /// A program that could not be started, by the error's number.
    static func start(_ code: Int32) -> ControlFailure {
        switch code {
        case ENOENT:
            ControlFailure(.noProgram, "The program isn't there. Nothing was started.")
        case E2BIG:
            ControlFailure(
                .notExecutable,
                "The arguments and variables are too large for a program. Give a large secret with "
                    + "--file. Nothing was started.")
        default:
            ControlFailure(
                .notExecutable,
                "The program can't be executed: \(errorText(code)). Nothing was started.")
        }
    }
}
