// TextLines: splits text at its bytes instead of at its characters. In Swift a combining mark is
// part of the character before it, and CR LF is one character, so the comparison of characters
// misses an equals sign before a value that begins with such a mark, and the LF of a CR LF.

extension StringProtocol where SubSequence == Substring {
    /// The lines of the text, without LF. A line that ends in CR LF keeps the CR.
    var lines: [Substring] {
        self[...].utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { Substring($0) }
    }

    /// The texts before and after the first occurrence of an ASCII character. `nil` if there is
    /// none.
    func split(atFirst separator: Unicode.Scalar) -> (before: Substring, after: Substring)? {
        let scalars = self[...].unicodeScalars
        guard let index = scalars.firstIndex(of: separator) else { return nil }
        return (self[..<index], self[scalars.index(after: index)...])
    }
}

extension Substring {
    /// The line without a CR at its end.
    var withoutReturn: Substring {
        unicodeScalars.last == "\r" ? Substring(unicodeScalars.dropLast()) : self
    }
}
