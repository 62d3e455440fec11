// RunOptions: parses the option values of `run`: NAME=ITEM and NUMBER=ITEM.

import ArgumentParser
import Glibc

/// The value of an environment variable for a program.
enum VariableValue: Hashable {
    case text(String)
    /// The secret of an item.
    case secret(ItemName)
    /// The path of a file in memory that contains the secret of an item.
    case file(ItemName)

    /// The item that the value refers to, or `nil` if it is literal text.
    var item: ItemName? {
        switch self {
        case .text: nil
        case .secret(let item), .file(let item): item
        }
    }
}

/// An option value `NAME=ITEM`.
struct NamedItem: Hashable {
    let name: String
    let item: ItemName

    init(_ argument: String) throws {
        let parts = argument.split(
            separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw ValidationError("Write NAME=SERVICE/ACCOUNT.")
        }
        guard Self.isVariable(parts[0]) else {
            throw ValidationError(Self.complaint(about: parts[0]))
        }
        guard let item = ItemName(String(parts[1])) else {
            throw ValidationError("The service is missing. Write NAME=SERVICE/ACCOUNT.")
        }
        name = String(parts[0])
        self.item = item
    }

    /// Whether the name is valid for a variable: letters, digits, `_`, `.` and `-`, beginning with
    /// a letter or `_`.
    static func isVariable(_ name: Substring) -> Bool {
        let isPlain = name.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "A"..."Z", "a"..."z", "0"..."9", "_", ".", "-": true
            default: false
            }
        }
        return isPlain && name.first.map { !$0.isNumber && $0 != "-" && $0 != "." } == true
    }

    static func complaint(about name: Substring) -> String {
        "“\(printable(String(name)))” is not a valid variable name. \(nameRule)"
    }

    static let nameRule =
        "A name consists of letters, digits, _, . and -, and begins with a letter or _."
}

/// An option value `NUMBER=ITEM`.
struct NumberedItem: Hashable {
    let number: Int32
    let item: ItemName

    init(_ argument: String) throws {
        let parts = argument.split(
            separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int32(parts[0]), number >= 0,
            let item = ItemName(String(parts[1]))
        else {
            throw ValidationError("Write NUMBER=SERVICE/ACCOUNT.")
        }
        guard number != STDOUT_FILENO, number != STDERR_FILENO else {
            throw ValidationError("A program writes to descriptors 1 and 2. Use another number.")
        }
        self.number = number
        self.item = item
    }
}
