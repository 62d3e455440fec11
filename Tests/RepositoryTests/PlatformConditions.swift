// PlatformConditions: the lines of a source that are compiled on Linux, and those on Apple's
// platforms.
//   (1) A condition that can't be parsed makes a test fail, and is never guessed.

import Testing

/// The platforms that conditions are evaluated for.
enum SourcePlatform: CaseIterable {
    case linux
    case apple

    /// The results of `canImport` and `os` on this platform.
    func holds(_ question: Substring, _ name: Substring) -> Bool? {
        switch (question, name) {
        case ("canImport", "Darwin"), ("os", "macOS"), ("os", "iOS"): self == .apple
        case ("canImport", "Glibc"), ("os", "Linux"): self == .linux
        // Linux with another C library, and Android, neither of which is tested.
        case ("canImport", "Musl"), ("canImport", "Android"): false
        default: nil
        }
    }
}

/// A condition: checks of the platform and single words, combined with `!`, `&&`, `||` and
/// parentheses. A single word, such as the name of a trait, is treated as true. Other text, such as
/// `compiler(>=6.2)`, can't be parsed.
struct PlatformCondition {
    /// Whether the condition depends on the platform.
    let isAboutPlatform: Bool
    private let tokens: [Substring]
    private let platform: SourcePlatform
    private var next = 0

    private init(_ text: Substring, _ platform: SourcePlatform) {
        tokens = text.matches(of: /\w+\(\w+\)|\w+|&&|\|\||[!()]|\S/).map(\.0)
        isAboutPlatform = tokens.contains { $0.hasSuffix(")") && $0.count > 1 }
        self.platform = platform
    }

    static func isAboutPlatform(_ text: Substring) -> Bool {
        PlatformCondition(text, .linux).isAboutPlatform
    }

    /// - Returns: `nil` for text that can't be parsed.
    static func holds(_ text: Substring, on platform: SourcePlatform) -> Bool? {
        var condition = PlatformCondition(text, platform)
        guard let value = condition.alternatives(), condition.next == condition.tokens.count else {
            return nil
        }
        return value
    }

    private mutating func take(_ token: Substring) -> Bool {
        guard next < tokens.count, tokens[next] == token else { return false }
        next += 1
        return true
    }

    private mutating func alternatives() -> Bool? {
        guard var value = conjunction() else { return nil }
        while take("||") {
            guard let other = conjunction() else { return nil }
            value = value || other
        }
        return value
    }

    private mutating func conjunction() -> Bool? {
        guard var value = factor() else { return nil }
        while take("&&") {
            guard let other = factor() else { return nil }
            value = value && other
        }
        return value
    }

    private mutating func factor() -> Bool? {
        if take("!") { return factor().map { !$0 } }
        if take("(") {
            let value = alternatives()
            return take(")") ? value : nil
        }
        guard next < tokens.count else { return nil }
        let token = tokens[next]
        next += 1
        if let question = token.wholeMatch(of: /(\w+)\((\w+)\)/) {
            return platform.holds(question.1, question.2)
        }
        return token.wholeMatch(of: /\w+/) == nil ? nil : true
    }
}

extension RepositoryFile {
    /// The conditions of `#if` and `#elseif` that depend on the platform, with their line numbers.
    /// A choice only between Foundation and FoundationEssentials is left out.
    var platformConditions: [(number: Int, text: Substring)] {
        let code = codeLines
        return code.compactMap { number, line in
            guard line.utf8.contains(0x23),
                let match = line.firstMatch(of: /^\s*#(?:else)?if (.+)/),
                PlatformCondition.isAboutPlatform(match.1),
                // Line numbers begin with 1.
                !Self.isFoundation(code.dropFirst(number).prefix(4).map(\.text))
            else { return nil }
            return (number, Substring(match.1))
        }
    }

    private static func isFoundation(_ lines: [String]) -> Bool {
        let access = lines.first?.hasPrefix("package ") == true ? "package " : ""
        return lines == [
            "\(access)import Foundation", "#else", "\(access)import FoundationEssentials", "#endif",
        ]
    }

    /// The lines that a compiler reads, without comments and conditions.
    func code(on platform: SourcePlatform) -> [(number: Int, text: String)] {
        /// The open `#if` blocks: whether the current branch of each block is taken, and whether
        /// the current branch or an earlier branch of the block is taken.
        var open: [(isTaken: Bool, wasTaken: Bool)] = []
        var taken: [(number: Int, text: String)] = []
        func holds(_ text: Substring, _ number: Int) -> Bool {
            let value = PlatformCondition.holds(text, on: platform)
            if value == nil { Issue.record("\(path):\(number): a condition that can't be read") }
            return value ?? true
        }
        for (number, line) in codeLines {
            let isDirective = line.utf8.contains(0x23)
            if !isDirective {
                if open.allSatisfy(\.isTaken) { taken.append((number, line)) }
            } else if let match = line.firstMatch(of: /^\s*#if (.+)/) {
                let value = holds(match.1, number)
                open.append((value, value))
            } else if let match = line.firstMatch(of: /^\s*#elseif (.+)/), let last = open.popLast()
            {
                let value = !last.wasTaken && holds(match.1, number)
                open.append((value, last.wasTaken || value))
            } else if line.contains(/^\s*#else/), let last = open.popLast() {
                open.append((!last.wasTaken, true))
            } else if line.contains(/^\s*#endif/) {
                _ = open.popLast()
            } else if open.allSatisfy(\.isTaken) {
                taken.append((number, line))
            }
        }
        return taken
    }

    /// Whether the file has no code on a platform.
    func isEmpty(on platform: SourcePlatform) -> Bool {
        code(on: platform).allSatisfy { $0.text.allSatisfy(\.isWhitespace) }
    }
}
