// The shared libraries that the programs load when they start.

import Foundation
import Testing

@Suite struct `Libraries of a program` {
    /// The whole of Foundation, with its internationalization library, is many times the size of a
    /// program. A program that loads it spends half of its start time on that.
    @Test(arguments: ["keychainctl", "keychaind"])
    func `a program loads FoundationEssentials, but not the rest of Foundation`(
        _ program: String
    ) throws {
        let path = ChildProcess.programs + "/" + program
        let file = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        let needed = [
            "libFoundationEssentials.so", "libFoundation.so",
            "libFoundationInternationalization.so",
            "lib_FoundationICU.so",
        ].filter { name in
            // The names of libraries end with a zero byte.
            file.range(of: Data(name.utf8 + [0])) != nil
        }
        #expect(needed == ["libFoundationEssentials.so"])
    }
}
