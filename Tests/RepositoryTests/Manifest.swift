// Manifest: the targets of Package.swift and their dependencies, read from its text.
//   (1) The text is formatted by `swift format`: each target begins on a separate line.
//   (2) Text that can't be parsed makes a test fail. No target is missed silently, because a test
//       also counts the targets in a second way.

import Foundation

struct Manifest {
    /// A target, or a library of another package.
    struct Dependency: Hashable {
        var name: String
        var isLibrary = false
        /// Whether the dependency applies only on Apple's platforms.
        var isForApple = false
        /// Whether the dependency applies on all platforms except Apple's.
        var isForOthers = false
        /// The package trait that the dependency requires.
        var trait: String?
    }

    struct Target {
        var name: String
        var dependencies: [Dependency]
        /// Whether the target's folder is below `Sources`.
        var isModule: Bool { Repository.exists("Sources/\(name)") }
    }

    /// The targets, in the order of the manifest.
    let targets: [Target]

    init() throws {
        self.init(text: try Repository.file("Package.swift"))
    }

    init(text: String) {
        let parts = text.split(separator: "\n    targets: [\n", maxSplits: 1)
        let constants = Self.constants(parts[0])
        targets = (parts.last ?? "").matches(
            of:
                /\n? {8}\.(?:target|executableTarget|testTarget|systemLibrary)\(\n?(?s:.*?)(?=\n {8}\.|\n {8}\/\/|\n {4}\])/
        ).map { Self.target($0.output.base[$0.range], constants) }
    }

    /// The libraries that a constant of the manifest names, by the name of the constant. A constant
    /// is a product or a list of products, for example
    /// `let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")`.
    private static func constants(_ text: Substring) -> [String: [Dependency]] {
        var constants: [String: [Dependency]] = [:]
        for part in "\n\(text)".split(separator: "\nlet ") {
            guard let declared = part.prefixMatch(of: /(\w+): \[?Target\.Dependency\]? =/) else {
                continue
            }
            let isForOthers = part.contains("otherPlatforms")
            constants[String(declared.1)] = part.matches(of: /name: "([^"]+)"/).map {
                Dependency(name: String($0.1), isLibrary: true, isForOthers: isForOthers)
            }
        }
        return constants
    }

    private static func target(
        _ text: Substring, _ constants: [String: [Dependency]]
    ) -> Target {
        let name = text.firstMatch(of: /name: "([^"]+)"/).map { String($0.1) } ?? ""
        guard let list = text.firstMatch(of: /dependencies: (?s:(.*))/) else {
            return Target(name: name, dependencies: [])
        }
        // The dependencies, without the arguments of the target that follow them.
        var rest = String(
            list.1.firstMatch(of: /(?s)\b(path|exclude|swiftSettings):/).map {
                list.1[..<$0.range.lowerBound]
            } ?? list.1)
        var dependencies: [Dependency] = []
        let elsewhere = /elsewhere\(\[([^\]]*)\]\)/
        for match in rest.matches(of: elsewhere) {
            dependencies += match.1.matches(of: /"([^"]+)"/).map {
                Dependency(name: String($0.1), isForOthers: true)
            }
        }
        rest.replace(elsewhere, with: "")
        // Targets and products that are written as calls, with or without a condition.
        let call = /\.(target|product)\((?s:((?:[^()]|\([^()]*\))*))\)/
        for match in rest.matches(of: call) {
            var dependency = Dependency(
                name: match.2.firstMatch(of: /name: "([^"]+)"/).map { String($0.1) } ?? "",
                isLibrary: match.1 == "product")
            dependency.isForApple = match.2.contains("applePlatforms")
            dependency.isForOthers = match.2.contains("otherPlatforms")
            dependency.trait = match.2.firstMatch(of: /traits: \["(\w+)"\]/)
                .map { String($0.1) }
            dependencies.append(dependency)
        }
        rest.replace(call, with: "")
        dependencies += rest.matches(of: /"([^"]+)"/).map { Dependency(name: String($0.1)) }
        rest.replace(/"[^"]+"/, with: "")
        dependencies += rest.matches(of: /\w+/).flatMap { constants[String($0.0)] ?? [] }
        return Target(name: name, dependencies: dependencies)
    }

    // MARK: Derived values

    func target(_ name: String) -> Target? { targets.first { $0.name == name } }

    /// Everything that is built for a target, including the target itself.
    func closure(of name: String, onApple: Bool = false, traits: Set<String> = []) -> Set<String> {
        var found: Set<String> = []
        var open = [name]
        while let next = open.popLast() {
            guard found.insert(next).inserted else { continue }
            open += (target(next)?.dependencies ?? [])
                .filter { onApple ? !$0.isForOthers : !$0.isForApple }
                .filter { $0.trait.map(traits.contains) ?? true }
                .map(\.name)
        }
        return found
    }

    /// The modules below `Sources` in rows. Each module depends only on modules in lower rows, and
    /// is in the lowest possible row. After the arrow are the modules on which a module depends,
    /// and in brackets the libraries of other packages. Dependencies that a module also has through
    /// another module are left out. A dependency with a condition makes only dependencies with the
    /// same condition redundant.
    var picture: [String] {
        let modules = targets.filter(\.isModule)
        var rows: [String: Int] = [:]
        func row(_ name: String) -> Int {
            if let known = rows[name] { return known }
            let below = (target(name)?.dependencies ?? [])
                .filter { !$0.isLibrary && !$0.isForApple }.map { row($0.name) + 1 }
            rows[name] = below.max() ?? 0
            return rows[name] ?? 0
        }
        let width = modules.map(\.name.count).max() ?? 0
        let traits: Set = ["OlderPKCS12", "TPM", "Synchronization"]
        func line(_ module: Target) -> String {
            func adds(_ dependency: Dependency) -> Bool {
                !module.dependencies.contains {
                    $0.name != dependency.name && !$0.isLibrary
                        && $0.isForApple == dependency.isForApple
                        && ($0.trait == nil || $0.trait == dependency.trait)
                        && closure(of: $0.name, traits: traits).contains(dependency.name)
                }
            }
            // Dependencies with conditions come last.
            let added = module.dependencies.filter(adds)
            let own =
                added.filter { !$0.isForApple && $0.trait == nil }
                + added.filter { $0.isForApple || $0.trait != nil }
            let direct = own.filter { !$0.isLibrary }.map { dependency in
                dependency.isForApple
                    ? "\(dependency.name) (Apple)"
                    : dependency.trait.map { "\(dependency.name) (\($0))" } ?? dependency.name
            }
            let libraries = own.filter(\.isLibrary).map { dependency in
                dependency.trait.map { "\(dependency.name) (\($0))" } ?? dependency.name
            }
            var line = module.name
            if !direct.isEmpty {
                line += String(repeating: " ", count: width - module.name.count)
                line += " → " + direct.joined(separator: ", ")
            }
            if !libraries.isEmpty { line += " [\(libraries.joined(separator: ", "))]" }
            return line
        }
        var lines: [String] = []
        for number in stride(from: modules.map { row($0.name) }.max() ?? 0, through: 0, by: -1) {
            for (index, module) in modules.filter({ row($0.name) == number }).enumerated() {
                let label = index == 0 ? String(number) : ""
                let margin = String(repeating: " ", count: 2 - label.count) + label
                lines.append("\(margin) │ \(line(module))")
            }
        }
        return lines
    }
}
