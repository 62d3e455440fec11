// FileProbe: is told of each change of a name in a folder, so that a test can end the process there.

/// What a test has to do with the files of the current task.
package enum FileProbe {
    /// Called behind each call that may make, rename or remove a file or a folder.
    @TaskLocal package static var current: (@Sendable () -> Void)?

    static func reach() { current?() }
}
