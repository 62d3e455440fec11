import Testing

@testable import KeychainCrypto

@Suite struct `The variables of a process` {
    @Test func `a value that is not UTF-8 stands for no path`() {
        // What Swift makes of the bytes 2F 61 FF.
        let variables = ProcessEnvironment.believed([
            "KEYCHAIN_DIRECTORY": "/a\u{FFFD}", "HOME": "/home/ada",
        ])
        #expect(variables["KEYCHAIN_DIRECTORY"]?.hasPrefix("/") == false)
        #expect(variables["HOME"] == "/home/ada")
    }

    @Test func `the home folder is an absolute path, or that of the user database`() {
        #expect(ProcessEnvironment.home(["HOME": "/home/ada"]) == "/home/ada")
        let home = ProcessEnvironment.home([:])
        #expect(ProcessEnvironment.home(["HOME": "relative"]) == home)
        #expect(home?.hasPrefix("/") != false)
    }
}
