// ProcessArguments: whether the arguments that a process was started with are texts.
//   (1) Swift puts U+FFFD in place of bytes that are not UTF-8, so that two different names become
//       one. The tools refuse such arguments before they look at any.

package enum ProcessArguments {
    /// The position of the first argument that is not valid UTF-8, as the shell counts: `$1` is 1.
    /// nil: all are.
    package static var firstInvalidPosition: Int? {
        for position in 0..<Int(CommandLine.argc) {
            // SAFETY: argv holds argc terminated strings for the life of the process.
            guard let argument = unsafe CommandLine.unsafeArgv[position] else { continue }
            if unsafe String(validatingCString: argument) == nil { return position }
        }
        return nil
    }

    /// What to tell the person. It repeats nothing of the argument.
    package static func complaint(about position: Int) -> String {
        "Argument \(position) isn't valid UTF-8. Names are texts: give it in UTF-8. Nothing was done."
    }
}
