// The written rules for sources that a program can verify.

import Testing

@Suite struct `Source rules` {
    /// A longer file covers more than one subject.
    static let lineLimit = 500

    /// The folders in which `unsafe` is allowed: for secret memory, the bytes of messages, page
    /// checksums, calls into C, and the result pointers of Apple's functions.
    static let unsafeFolders = [
        "Sources/KeychainCore/Memory/", "Sources/KeychainCore/Coding/",
        "Sources/KeychainCrypto/Memory/", "Sources/KeychainCrypto/SystemCalls/",
        "Sources/KeychainSQLite/Pages/",
        "Sources/KeychainSQLite/ForeignCalls/", "Sources/KeychainSQLite/SQLite/",
        "Sources/KeychainServices/", "Sources/KeychainAuthentication/SystemCalls/",
        "Sources/KeychainTPM/ForeignCalls/",
        "Sources/KeychainDaemon/SystemCalls/", "Sources/KeychainRuntime/SystemCalls/",
    ]

    /// Single files outside these folders, each with the reason.
    static let unsafeFiles: [String: String] = [
        "Sources/Keychain/Values/KeychainValue+Crypto.swift":
            "takes the bytes of the crypto library's keys",
        "Sources/KeychainAuthentication/Context/LAContext.swift":
            "writes to the error pointer of canEvaluatePolicy",
        "Sources/KeychainSQLite/Salvage/SalvageSource.swift": "reads a file that SQLite can't read",
        "Sources/KeychainAsymmetricKeys/Keys/DigestAlgorithm.swift":
            "gives the crypto library the bytes of a digest, and takes those of a shared secret",
        "Sources/KeychainSecItem/SecItemHandler.swift":
            "passes a result pointer to SecItemCopyMatching and SecItemAdd",
        "Sources/KeychainSecItem/SecItemHandler+SecureEnclave.swift":
            "passes result and error pointers to functions on keys",
    ]

    @Test func `sources are found`() throws {
        #expect(try Repository.sources().count > 50)
    }

    @Test func `no file is longer than 500 lines`() throws {
        for file in try Self.swiftFiles() {
            #expect(file.lines.count <= Self.lineLimit, "\(file) has \(file.lines.count) lines")
        }
    }

    @Test func `a source file begins with a description of its subject`() throws {
        for file in try Repository.sources() {
            #expect(file.lines.first?.hasPrefix("// ") == true, "\(file)")
        }
    }

    @Test(arguments: ["try!", "as!", "fatalError("])
    func `no source uses try!, as! or fatalError`(_ trap: String) throws {
        for file in try Repository.sources() {
            for line in file.codeLines where line.text.contains(trap) {
                Issue.record("\(file):\(line.number) has \(trap)")
            }
        }
    }

    @Test func `unsafe code is only in the listed folders and files`() throws {
        for file in try Repository.sources() {
            let isAllowed =
                Self.unsafeFolders.contains { file.path.hasPrefix($0) }
                || Self.unsafeFiles[file.path] != nil
            guard !isAllowed, let line = Self.unsafeLines(of: file).first else { continue }
            Issue.record("\(file):\(line.number) is unsafe")
        }
    }

    @Test func `every file and folder on the list of allowed unsafe code needs the exception`()
        throws
    {
        let files = try Repository.sources()
        for path in Self.unsafeFiles.keys {
            let file = try #require(files.first { $0.path == path })
            #expect(!Self.unsafeLines(of: file).isEmpty, "\(path)")
        }
        for folder in Self.unsafeFolders {
            #expect(
                files.contains { $0.path.hasPrefix(folder) && !Self.unsafeLines(of: $0).isEmpty },
                "\(folder)")
        }
    }

    @Test func `only one file reads the environment variables of the process`() throws {
        let readers = try Repository.sources().filter { file in
            file.codeLines.contains {
                $0.text.contains(".environment") && $0.text.contains("processInfo")
                    || $0.text.contains("getenv(") || $0.text.contains(/unsafe environ$/)
                    || $0.text.contains("NSHomeDirectory()")
            }
        }
        #expect(readers.map(\.path) == ["Sources/KeychainCrypto/Memory/ProcessEnvironment.swift"])
    }

    /// Other code uses handlers of concrete types, such as `KeychainHandler`. One case of
    /// `KeychainHandler`, and on Apple's platforms one of `SystemHandler`, is for handlers that
    /// tests supply.
    @Test func `only two files use the type any RequestHandler`() throws {
        let files = try Repository.sources().filter { file in
            file.codeLines.contains { $0.text.contains("any RequestHandler") }
        }
        #expect(
            Set(files.map(\.path)) == [
                "Sources/KeychainRuntime/KeychainHandler.swift",
                "Sources/Keychain/Database/KeychainDatabase.swift",
            ])
    }

    @Test func `every function with unsafe code has a safety comment`() throws {
        for file in try Repository.sources() {
            let lines = Self.unsafeLines(of: file)
            let reasoned = lines.isEmpty ? [] : Self.reasonedLines(of: file)
            for line in lines where !reasoned.contains(line.number) {
                Issue.record("\(file):\(line.number): its function has no // SAFETY: line")
            }
        }
    }

    @Test func `a safety comment covers only its function, or outside functions the next line`() {
        let file = RepositoryFile(
            path: "Sources/M/F.swift",
            lines: [
                "    func a() {", "        // SAFETY: so.", "        unsafe x()", "    }",
                "    func b() {", "        unsafe y()", "    }",
                "    // SAFETY: so.", "    var c: Int { unsafe z }",
                "    let d = unsafe e",
            ])
        #expect(Self.reasonedLines(of: file) == [1, 2, 3, 4, 9])
    }

    @Test func `a comment near each unchecked Sendable mentions a lock or mutex`() throws {
        var found = 0
        for file in try Repository.sources() {
            for line in file.codeLines where line.text.contains("@unchecked Sendable") {
                let near = file.lines[
                    max(0, line.number - 7)..<min(file.lines.count, line.number + 6)]
                #expect(
                    Self.namesLock(near),
                    "\(file):\(line.number) names no lock and doesn't say that it needs none")
                found += 1
            }
        }
        #expect(found > 0)
    }

    @Test func `only the whole words lock, locks and mutex in a comment mention a lock`() {
        #expect(Self.namesLock(["let a = 1", "/// Guarded by the lock of its owner."]))
        #expect(Self.namesLock(["let state: Mutex<Int>  // This mutex guards all of it."]))
        #expect(!Self.namesLock(["// A block of bytes that is locked and unlocked."]))
        #expect(!Self.namesLock(["let lock = Mutex(0)"]))
    }

    @Test func `comments and literals are not treated as code`() {
        let file = RepositoryFile(
            path: "Sources/M/F.swift",
            lines: ["let a = 1  // try!", "/* try! */ let b = \"try!\"", "/*", "try!", "*/ c"])
        #expect(file.codeLines.map(\.text) == ["let a = 1  ", " let b = \"", "", "", " c"])
    }

    // MARK: Parsing

    /// Whether a comment in the lines contains the word "lock", "locks" or "mutex". Other words
    /// that contain these, such as "block", don't count.
    private static func namesLock(_ lines: some Sequence<Substring>) -> Bool {
        lines.contains { line in
            line.firstRange(of: "//").map {
                line[$0.upperBound...].lowercased().contains(/\b(lock|locks|mutex)\b/)
            } == true
        }
    }

    private static func swiftFiles() throws -> [RepositoryFile] {
        try ["Sources", "Tests", "Examples", "Benchmarks"]
            .filter { Repository.exists($0) }
            .flatMap { try Repository.files(in: $0, suffix: ".swift") }
    }

    /// The numbers of the lines that a `// SAFETY:` comment covers: all lines of a function that
    /// has such a comment inside or directly above it, and the first line of code below each such
    /// comment.
    private static func reasonedLines(of file: RepositoryFile) -> Set<Int> {
        func indentation(_ line: Substring) -> Int { line.prefix { $0 == " " }.count }
        func isReason(_ line: Substring) -> Bool { line.contains("// SAFETY:") }
        let header =
            /^ *(@\S+ )*([a-z]+(\([a-z]+\))? )*((func|subscript|init|deinit)\b|var .*\{)/
        var reasoned: Set<Int> = []
        for (start, line) in file.lines.enumerated() where line.prefixMatch(of: header) != nil {
            let isOneLine = line.hasSuffix("}")
            let end =
                isOneLine
                ? start
                : file.lines[start...].firstIndex {
                    indentation($0) == indentation(line) && $0.drop { $0 == " " }.hasPrefix("}")
                } ?? start
            let comment = file.lines[..<start].reversed()
                .prefix { $0.drop { $0 == " " }.hasPrefix("//") || $0.contains("@") }
            if comment.contains(where: isReason)
                || file.lines[start...end].contains(where: isReason)
            {
                reasoned.formUnion(start + 1...end + 1)
            }
        }
        // Outside functions, a safety comment covers the first line of code below it.
        for (index, line) in file.lines.enumerated() where isReason(line) {
            let next = file.lines[(index + 1)...].firstIndex {
                !$0.drop { $0 == " " }.hasPrefix("//")
            }
            if let next { reasoned.insert(next + 1) }
        }
        return reasoned
    }

    /// The lines with the keyword `unsafe`. `nonisolated(unsafe)` and `@unsafe` don't count,
    /// because they only declare that something is unsafe.
    private static func unsafeLines(of file: RepositoryFile) -> [(number: Int, text: String)] {
        file.codeLines.filter { _, text in
            guard text.contains("unsafe") else { return false }
            return text.split(whereSeparator: {
                !$0.isLetter && $0 != "(" && $0 != ")" && $0 != "@"
            })
            .contains { $0 == "unsafe" || $0 == "(unsafe" }
        }
    }
}
