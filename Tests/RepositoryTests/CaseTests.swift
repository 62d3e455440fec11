// CaseTests: the numbered behaviour cases, where they stand and where they are cited.

import Testing

@Suite struct `Behaviour cases` {
    @Test func `the document has each number once, in order`() throws {
        let numbers = try Self.documented()
        #expect(numbers.count > 250)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func `each number that a test cites is in the document`() throws {
        let documented = Set(try Self.documented())
        var count = 0
        for file in try Repository.files(
            in: "Tests/KeychainServicesTests/Cases", suffix: ".swift")
        {
            for (index, line) in file.lines.enumerated() where line.contains("Row(") {
                for row in line.matches(of: /\b(?:Damage)?Row\(([0-9]+), "/) {
                    count += 1
                    let number = try #require(Int(row.1))
                    #expect(documented.contains(number), "\(file):\(index + 1) cites \(number)")
                }
            }
        }
        #expect(count > 200)
    }

    /// The last column of the tables of differences.
    @Test func `each number that a difference cites is in the document`() throws {
        let documented = Set(try Self.documented())
        var count = 0
        for line in try Repository.file("Documentation/Differences.md").split(separator: "\n") {
            guard let column = line.firstMatch(of: /\| ([0-9]+(?:, [0-9]+)*) \|$/) else { continue }
            for number in column.1.split(separator: ", ") {
                count += 1
                let isThere = Int(number).map(documented.contains) == true
                #expect(isThere, "Differences.md cites \(number)")
            }
        }
        #expect(count > 25)
    }

    private static func documented() throws -> [Int] {
        try Repository.file("Documentation/Cases.md").split(separator: "\n").compactMap { line in
            line.prefixMatch(of: /\| ([0-9]+) \|/).flatMap { Int($0.1) }
        }
    }
}
