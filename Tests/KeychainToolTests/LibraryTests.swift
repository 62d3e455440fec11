// Which libraries the programs open when they start.

import Foundation
import Testing

@Suite struct `Libraries of a program` {
    /// All of Foundation and its internationalization are many times a program's size, and half of
    /// its time to start.
    @Test(arguments: ["keychainctl", "keychaind"])
    func `a program needs the essentials of Foundation and not the rest`(
        _ program: String
    ) throws {
        let path = ChildProcess.programs + "/" + program
        let file = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        let needed = [
            "libFoundationEssentials.so", "libFoundation.so",
            "libFoundationInternationalization.so",
            "lib_FoundationICU.so",
        ].filter { name in
            // Names of libraries end with a zero byte.
            file.range(of: Data(name.utf8 + [0])) != nil
        }
        #expect(needed == ["libFoundationEssentials.so"])
    }
}
