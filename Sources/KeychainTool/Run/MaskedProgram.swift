// MaskedProgram: runs a program as a child process, and passes on its output with secrets replaced
// by a mark.
//   (1) The program has the same process group, controlling terminal, input and working directory
//       as without masking. Its output and errors are pipes.
//   (2) Unless (3) applies, its output is read until no process has it open any more, so that the
//       output of its background processes isn't lost.
//   (3) If the output can't be passed on, for example because its reader went away, the program's
//       pipe is closed, and the program notices as with any pipe.

import Glibc
import KeychainCrypto
import KeychainRuntime

struct MaskedProgram {
    let start: ProgramStart
    let concealment: Concealment

    /// Runs the program until it exits, and passes on its output until the output ends.
    ///
    /// - Returns: The exit status for this process.
    /// - Throws: ``ControlFailure`` if the program could not be started.
    func run() throws(ControlFailure) -> Int32 {
        let output = try passOn(to: STDOUT_FILENO)
        let errors = try passOn(to: STDERR_FILENO)
        ForwardedSignals.take()
        let (process, code) = ProcessProtection.withLimitOfCaller {
            ForwardedSignals.start {
                start.spawn(output: output.descriptor.number, errors: errors.descriptor.number)
            }
        }
        guard code == 0 else { throw .start(code) }
        // After this, only the program has the writing ends of the pipes open.
        output.descriptor.close()
        errors.descriptor.close()
        let status = ForwardedSignals.wait(for: process)
        ForwardedSignals.release()
        for end in [output.end, errors.end] {
            _ = Descriptor.wait(for: nil, until: end)
        }
        return status
    }

    /// The end of a pipe that the program writes to, and an event that is signalled when nothing
    /// more will be passed on.
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
            // A reader that went away is not reported, and neither is a failure of standard error,
            // where the report would be written.
            if errno != EPIPE, target != STDERR_FILENO {
                Output.report("Can't write the program's output: \(errorText(errno)).")
            }
            return
        }
    }
}

extension ControlFailure {
    /// The error for a program that could not be started, for a value of `errno`.
    static func start(_ code: Int32) -> ControlFailure {
        switch code {
        case ENOENT:
            ControlFailure(
                .noProgram, "The program or its interpreter was not found. Nothing was started.")
        case E2BIG:
            ControlFailure(
                .notExecutable,
                "The arguments and environment variables are too large for a program. Pass a large "
                    + "secret with --file. Nothing was started.")
        default:
            ControlFailure(
                .notExecutable,
                "The program can't be executed: \(errorText(code)). Nothing was started.")
        }
    }
}
