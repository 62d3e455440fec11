// Article: the first article of a library product, and the program that it explains.

import Foundation

/// The first article of a library product.
struct Article: Sendable, CustomStringConvertible {
    /// The product, which is also the name of its documentation catalog.
    let product: String
    /// The name of the article's file.
    let name: String
    /// The folders of this package that contain the files of the article.
    let folders: [String]
    /// The number of commands that the article shows.
    var commandCount = 0

    static let all = [
        Article(
            product: "Keychain", name: "KeepAToken", folders: ["Sources/token"], commandCount: 5),
        Article(product: "KeychainTesting", name: "FirstTest", folders: ["Tests/tokenTests"]),
        Article(
            product: "KeychainServices", name: "ShareCode",
            folders: ["Sources/PasswordStore", "Sources/password"], commandCount: 3),
        Article(
            product: "KeychainAuthentication", name: "AskTheUser",
            folders: ["Sources/recovery", "Tests/recoveryTests"]),
        Article(
            product: "KeychainCryptoKit", name: "SignInHardware",
            folders: ["Sources/signer", "Tests/signerTests"], commandCount: 1),
    ]

    /// The folder of this package.
    static let package = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    var description: String { name }

    /// The article's code blocks in a language, in order.
    func blocks(_ language: String) throws -> [String] {
        let file = Self.package.deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/\(product)/\(product).docc/\(name).md")
        return try String(contentsOf: file, encoding: .utf8)
            .components(separatedBy: "\n```").enumerated()
            .filter { $0.offset % 2 == 1 && $0.element.hasPrefix("\(language)\n") }
            .map { String($0.element.dropFirst(language.count + 1)) }
    }

    /// The article's package manifest, which is the block of Swift code that begins with the tools
    /// version.
    func manifest() throws -> String {
        try blocks("swift").first { $0.hasPrefix("// swift-tools-version") } ?? ""
    }

    /// The article's other blocks of Swift code.
    func code() throws -> [String] {
        try blocks("swift").filter { !$0.hasPrefix("// swift-tools-version") }
    }

    /// The contents of the article's files, without the comment at the beginning of each.
    func files() throws -> [String] {
        try folders.flatMap { folder in
            let url = Self.package.appending(path: folder)
            return try FileManager.default.contentsOfDirectory(atPath: url.path).sorted().map {
                let text = try String(contentsOf: url.appending(path: $0), encoding: .utf8)
                return text.components(separatedBy: "\n").drop { $0.hasPrefix("//") }
                    .joined(separator: "\n")
            }
        }
    }
}
