// Question+Text: what a person reads.

#if !canImport(Darwin)

import Foundation

extension Question {
    /// What is asked for, in the words of a label.
    var label: String {
        switch subject {
        case .passcode: "Passcode of the keychain"
        case .applicationPassword: "Password of the item"
        case .newApplicationPassword: "New password for the item"
        case .newApplicationPasswordAgain: "New password for the item, again"
        case .biometry: "Biometry"
        }
    }

    /// Which program asks, and why if it says so.
    ///
    /// The reason is the program's text: characters that a terminal would act on are left out, and
    /// so is all beyond a length that a person would read.
    var introduction: String {
        let reason = Self.printable(reason)
        let program = Self.printable(ProcessInfo.processInfo.processName)
        return reason.isEmpty ? program : "\(program): \(reason)"
    }

    /// What was wrong with the answer before. Empty: nothing.
    var complaint: String {
        switch (problem, subject) {
        case (nil, _): ""
        case (.wrong, .passcode): "The passcode is wrong."
        case (.wrong, _): "The password is wrong."
        case (.notTheSame, _): "The two are not the same. Once more."
        }
    }

    /// The longest reason that is shown, in characters.
    private static let longestReason = 300

    static func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.lazy.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .format: " "
            default: scalar
            }
        }
        return String(String(String.UnicodeScalarView(scalars)).prefix(longestReason))
    }
}

#endif
