// CheckTests: `./dev check` leaves out all tests that start programs of this package, and runs more
// than half of all test files.

import Testing

@Suite struct `The quick check` {
    /// The code with which tests start programs of this package, or other slow programs.
    private static let starts = [
        "TestProgram(", "TestProgram.path(", "PeerCopy(", "ServiceProcess(", "ChildProcess.",
        "TestHome(", "Dialogue(", "OtherProcess(", "SimulatedChip(", "EtcdCluster.with(",
    ]

    private static func startsProgram(_ line: some StringProtocol) -> Bool {
        starts.contains { line.contains($0) }
    }

    /// The patterns of tests that are left out, one per line, as for `swift test --skip`.
    private static func leftOut() throws -> [(text: String, expression: Regex<AnyRegexOutput>)] {
        let script = try Repository.file("dev")
        let list = try #require(script.firstMatch(of: /\nleft_out='([^']+)'\n/)).1
        return try list.split(separator: "\n").map { (String($0), try Regex(String($0))) }
    }

    /// The files of test targets, each with SwiftPM's identifier of a test in it.
    private static func testFiles() throws -> [(file: RepositoryFile, test: String)] {
        try Repository.files(in: "Tests", suffix: ".swift").compactMap { file in
            let target = file.path.split(separator: "/")[1]
            guard target.hasSuffix("Tests"), file.lines.contains(where: { $0.contains("@Test") })
            else { return nil }
            return (file, "\(target).Suite/test()/\(file.name):1:1")
        }
    }

    @Test func `no test in the quick check starts a program of this package`() throws {
        let leftOut = try Self.leftOut()
        var count = 0
        for (file, test) in try Self.testFiles() {
            guard file.lines.contains(where: { Self.startsProgram($0) }),
                let line = file.codeLines.first(where: { Self.startsProgram($0.text) })
            else { continue }
            count += 1
            let isLeftOut = try leftOut.contains { try $0.expression.firstMatch(in: test) != nil }
            #expect(isLeftOut, "\(file):\(line.number) starts a program")
        }
        #expect(count > 15)
    }

    @Test func `every pattern of left-out tests matches a test`() throws {
        let tests = try Self.testFiles().map(\.test)
        for (text, expression) in try Self.leftOut() {
            let isThere = try tests.contains { try expression.firstMatch(in: $0) != nil }
            #expect(isThere, "\(text)")
            // Each alternative in a pattern must also match a test.
            for name in text.matches(of: /[A-Z][A-Za-z0-9]+/).map(\.output) {
                #expect(tests.contains { $0.contains(name) }, "\(name) of \(text)")
            }
        }
    }

    @Test func `most test files are in the quick check`() throws {
        let (tests, leftOut) = (try Self.testFiles().map(\.test), try Self.leftOut())
        let left = try tests.filter { test in
            try leftOut.contains { try $0.expression.firstMatch(in: test) != nil }
        }
        #expect(left.count * 2 < tests.count)
    }
}
