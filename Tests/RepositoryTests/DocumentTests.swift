// What the documents say about the repository.

import Foundation
import Testing

@Suite struct `Documents` {
    @Test func `the README names the commands that every contributor runs`() throws {
        let text = try Repository.file("README.md")
        for command in ["./dev run", "./dev check", "./dev test", "./dev install"] {
            #expect(text.contains(command), "\(command)")
        }
    }

    @Test func `dev documents exactly the commands that it accepts`() throws {
        let lines = try Repository.file("dev").split(separator: "\n")
        let usage = lines.drop { $0 != "usage: ./dev VERB" }.prefix { $0 != "TEXT" }
        let explained = usage.compactMap { $0.prefixMatch(of: #/  ([a-z]+) /#)?.1 }
        let choice = try #require(lines.lastIndex(of: "case ${1-} in"))
        let taken = lines[choice...].compactMap { $0.prefixMatch(of: /([a-z]+)(\)| \|)/)?.1 }
        #expect(explained.count == 9)
        #expect(taken.sorted() == explained.sorted())
    }

    @Test func `the Swift line that dev run prints is compiled in the Quickstart example`() throws {
        let dev = try Repository.file("dev")
        let line = try #require(dev.firstMatch(of: /let password = (try Keychain\(.*)/)).1
        let compiled = line.replacing("\"com.example.app\"", with: "service")
            .replacing("\"alice\"", with: "account")
        let example = try Repository.file("Examples/Quickstart/Sources/Quickstart/main.swift")
        #expect(example.contains(compiled))
    }

    /// `Examples/Tutorials` contains the programs of the first article of each product. Tests there
    /// check that the articles show exactly these programs.
    @Test func `the documentation of a library product begins with an article that is tested`()
        throws
    {
        let manifest = try Repository.file("Package.swift")
        let tested = try Repository.file("Examples/Tutorials/Tests/ArticleTests/Article.swift")
        let products = manifest.matches(of: /\.library\(\s*name: "(\w+)"/).map { String($0.1) }
        #expect(products.count == 5)
        for product in products {
            let catalog = "Sources/\(product)/\(product).docc"
            let page = try Repository.file("\(catalog)/\(product).md")
            let topics = try #require(page.range(of: "\n## Topics\n"), "\(product)")
            let first = try #require(
                page[topics.upperBound...].firstMatch(of: /\n- (.*)/)?.1.wholeMatch(
                    of: /<doc:(\w+)>/)?.1, "\(product)")
            #expect(Repository.exists("\(catalog)/\(first).md"))
            #expect(tested.contains(#"product: "\#(product)", name: "\#(first)""#), "\(product)")
        }
        let dev = try Repository.file("dev")
        #expect(dev.contains("\n    check \"Example: Tutorials\" tutorials\n"))
    }

    /// `./dev test` measures the coverage and checks the documentation; `./dev bench` measures the
    /// times. These lines of `dev` make the two commands fail if a limit is missed.
    @Test(arguments: [
        "covered Capture/Sources/Capture 95", "covered TVRemote/Sources/TVRemote 80",
        "document Capture Examples/Systems/Capture", "systems-benchmarks || status=1",
        "swift run -c release --package-path Benchmarks || status=1",
        "[ \"$status\" -eq 0 ] || fail",
    ])
    func `dev fails if a required limit is missed`(_ command: String) throws {
        let lines = try Repository.file("dev").split(separator: "\n")
        #expect(
            lines.contains { $0.contains(command) && !$0.drop { $0 == " " }.hasPrefix("#") })
    }

    @Test func `the benchmark of the example systems checks the required limits`() throws {
        let text = try Repository.file("Examples/Systems/Support/Benchmarks/main.swift")
        let rows = text.matches(of: /name: "(.+)", milliseconds: ([0-9.]+)\)/)
        let limits = Dictionary(rows.map { (String($0.1), Double($0.2)) }) { first, _ in first }
        #expect(
            limits == [
                "Capture testPerformance_Save": 2.76, "Capture testPerformance_Load": 2.64,
                "Capture testPerformance_SymmetricKeyRoundTrip": 3.09,
                "Capture device state, saved": 10, "Capture device state, loaded": 10,
                "Capture serialization of a key": 1, "Capture serialization of a device state": 1,
                "TVRemote credentials, saved": 10, "TVRemote credentials, loaded": 10,
                "TVRemote credentials, deleted and saved": 20,
            ])
        #expect(text.contains("exit(missed == 0 ? 0 : 1)"))
    }

    /// In the section "A load and a save" of Architecture.md, each row of the tables names a file,
    /// a function, and what the function does. The file and the function are checked.
    @Test func `the functions of a load and a save are in the files that Architecture.md names`()
        throws
    {
        let section = try #require(
            try Repository.file("Documentation/Architecture.md")
                .components(separatedBy: "\n## ")
                .first { $0.hasPrefix("A load and a save") })
        let rows = section.matches(of: /\n\| `([^`]+)` \| `([^`]+)` \|/)
        for row in rows {
            let text = try Repository.file("Sources/" + row.1)
            #expect(text.contains("func \(row.2)(") || text.contains("func \(row.2)<"), "\(row.0)")
        }
        #expect(rows.count == 11 + 15)
    }

    @Test func `every link inside the repository leads to a file`() throws {
        var count = 0
        for document in try Repository.files(suffix: ".md") {
            let folder = document.path.split(separator: "/").dropLast().joined(separator: "/")
            for target in Self.links(in: document) {
                count += 1
                let path = [folder, target].filter { !$0.isEmpty }.joined(separator: "/")
                let name = path.removingPercentEncoding ?? path
                #expect(Repository.exists(name), "\(document) links to \(target)")
            }
        }
        // Fails if the patterns in `links(in:)` are changed so that they find almost no links.
        #expect(count > 10)
    }

    @Test func `only links to files are found, in lines of text and in link definitions`() {
        let document = RepositoryFile(
            path: "A.md",
            lines: [
                "See [one](B.md), [two](C/D.md#part) and [three](https://example.org/E.md).",
                "[four]: F.md", "[in page](#part) `[code](G.md)`",
            ])
        #expect(Self.links(in: document) == ["B.md", "C/D.md", "F.md"])
    }

    @Test func `decisions are numbered without a gap and have their three parts`() throws {
        let decisions = try Repository.files(in: "Documentation/Decisions", suffix: ".md")
        #expect(!decisions.isEmpty)
        for (index, decision) in decisions.enumerated() {
            let number = String(index + 1)
            let padded = String(repeating: "0", count: max(0, 4 - number.count)) + number
            #expect(decision.name.hasPrefix(padded + "-"), "\(decision)")
            for heading in ["## Context", "## Decision", "## What was given up"] {
                #expect(decision.lines.contains { $0 == heading }, "\(decision): \(heading)")
            }
        }
    }

    @Test func `every file format has a document, and vectors or another test`() throws {
        let documents = try Repository.files(in: "Documentation/Formats", suffix: ".md")
            .filter { $0.name.contains("-v") }
        #expect(documents.count >= 6)
        let vectors = try Repository.files(in: "Documentation/Formats/vectors", suffix: ".json")
        // These vectors have no document of the same name. They test a part of a format, whose
        // document describes the part; Synchronization.md describes circles.
        let parts = [
            "anchor-v1.json", "circle-v1.json", "header-v1.json", "header-v2.json", "label-v1.json",
            "label-v2.json", "pages-v2.json", "record-v1.json",
        ]
        // Other tests check these formats, with the examples in their documents or byte by byte.
        let withoutVectors = [
            "audit-v1.json", "backup-v1.json", "database-v1.json", "database-v2.json",
            "freshness-note-v1.json", "service-protocol-v2.json", "storage-key-v1.json",
        ]
        #expect(
            Set(vectors.map { String($0.name) })
                == Set(documents.map { $0.name.dropLast(".md".count) + ".json" })
                .subtracting(withoutVectors).union(parts))
        for file in vectors {
            let text = file.lines.joined(separator: "\n")
            let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
            let root = try #require(object as? [String: Any], "\(file)")
            let declared = try #require(root["numberOfTests"] as? Int, "\(file)")
            let groups = try #require(root["testGroups"] as? [[String: Any]], "\(file)")
            let counted = groups.reduce(0) { $0 + (($1["tests"] as? [Any])?.count ?? 0) }
            #expect(counted == declared && counted > 0, "\(file)")
        }
    }

    /// The completion scripts that ArgumentParser generates can't complete names of items. So the
    /// scripts of `keychainctl completions` must be installed instead.
    @Test(arguments: ["dev", "Distribution/debian/build"])
    func `the installed completions complete names of items`(path: String) throws {
        let script = try Repository.file(path)
        for shell in ["bash", "zsh", "fish"] {
            #expect(script.contains("keychainctl\" completions \(shell) "))
        }
        #expect(!script.contains("--generate-completion-script"))
    }

    @Test(arguments: ["dev", ".ci/run"])
    func `dev and the CI script are executable`(_ path: String) {
        let file = Repository.root.appending(path: path).path(percentEncoded: false)
        #expect(FileManager.default.isExecutableFile(atPath: file))
    }

    /// The files to which the Markdown links of a document lead, relative to its folder.
    private static func links(in document: RepositoryFile) -> [String] {
        var isInFence = false
        return document.lines.flatMap { line -> [String] in
            if line.hasPrefix("```") { isInFence.toggle() }
            guard !isInFence else { return [] }
            let text = String(line).replacing(/`[^`]*`/, with: "")
            let inline = text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
            let reference = text.matches(of: /^\[[^\]]+\]:\s*(\S+)/).map { String($0.1) }
            return (inline + reference)
                .filter { !$0.contains("://") && !$0.hasPrefix("#") && !$0.hasPrefix("mailto:") }
                .map { String($0.prefix { $0 != "#" }) }
        }
    }
}
