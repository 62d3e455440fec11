// Keyring files of gnome-keyring: encrypted files and text files.

import Foundation
import KeychainCore
import Testing

@testable import KeychainTool

@Suite struct `Keyrings of GNOME` {
    // gnome-keyring 42.1 wrote this file, with the password "pw", after these calls of secret-tool:
    //   printf one | secret-tool store --label=Mail service mail account ada
    //   printf 'tw\nö' | secret-tool store --label=Site
    //     xdg:schema org.gnome.keyring.NetworkPassword
    //     server example.org user bob protocol https port 8443 object /x
    //   printf three | secret-tool store --label='Chrome Safe Storage' application chrome
    private static let encrypted = Array(
        Data(
            base64Encoded: """
                R25vbWVLZXlyaW5nCg0ACgAAAAAAAAAFTG9naW4AAAAAawUqUAAAAAAAAAAAAAAAAAAAAAAAAAgB
                inW8yT2MXSwAAAAAAAAAAAAAAAAAAAAAAAAAAwAAAAIAAAABAAAABgAAAAZvYmplY3QAAAAAAAAA
                IGNjODc1NTYwOWFkNjE4NjQ5MTBmMTQ1MTE5NzEzZGU5AAAABHBvcnQAAAAAAAAAIDdlNmIyMGQw
                MTRkMWM2NTllNGVhZjIwZGMyZGNkN2ViAAAACHByb3RvY29sAAAAAAAAACA1ZTA1NmM1MDBhMWM0
                YjZhNzExMGI1MGQ4MDdiYWRlNQAAAAZzZXJ2ZXIAAAAAAAAAIDFiZGY3MmUwNGQ2YjUwYzgyYTQ4
                YzdlNGRkMzhjYzY5AAAABHVzZXIAAAAAAAAAIDlmOWQ1MWJjNzBlZjIxY2E1YzE0ZjMwNzk4MGEy
                OWQ4AAAACnhkZzpzY2hlbWEAAAAAAAAAIDM1ZmE1NGY1YTEzNDI5ZDlhOGNjODUyNzU0MjY1MDQ5
                AAAAAwAAAAAAAAABAAAAC2FwcGxpY2F0aW9uAAAAAAAAACA1NTQ4MzhhODQ1MWFjMzZjYjk3N2U3
                MTllOWQ2NjIzYwAAAAEAAAAAAAAAAgAAAAdhY2NvdW50AAAAAAAAACA4YzhkMzU3YjVlODcyYmJh
                Y2Q0NTE5NzYyNmJkNTc1OQAAAAdzZXJ2aWNlAAAAAAAAACBiODNhODg2YTVjNDM3Y2NkOWFjMTU0
                NzNmZDZmMTc4OAAAAdDcozagOqrZPk1/MO7LZ/o7Qzn2F1Ti7yeALYXV733wuvyt65T4dw2IrkSA
                x5umTqCCkYR1VMN4h5QI1UFLnh8yOPGXEOpK7qnlhWbLB62VHJuJKuaYkRU+qWw0KjbAV5I0gw7d
                QEZAKJOGqkJ6PNyjK0bSWpHBkg90SKdX9mdnZF8P6NEyl7PjL4sAlzCc4uPZqGOro0+6WYsqWJec
                u75eRv+tNtzi0TTKkm154brOXBKGYV0dhXLYu4VUvChdNgfUCidDIRBX4vaeHhv97aPvwpB8WD+4
                OslvO/MGOMvmphK4G8kZvwhjlHmqiW+Onwfubd8vDup/2HOu4hmEOHg+cEemfbCQ6NZz2OryALkQ
                dS03IQi94dIpJkmM9nwtmCJmUl4VOwc1iLcKpK6HdlS3GEtaPZ+ruKPN96Jim2nMlmnntPQjefIG
                XmHIT3FU3KVSs/6nzBh2vZaa0zPcAnFsmibfb1aEpzF80puJMik81KwCx6ZnLozjdPv7HcEo/9Dg
                NEPgoFMPVa9PuM8FPWRjLubwI5SaebvVMZSZLN45hfsLzXA+FOQX/EjaFKSZcOq9BCCRGg54SqVF
                Ek3Kzhg5nUwBct9J0glAMC2avyU+Nw==
                """, options: .ignoreUnknownCharacters) ?? Data())

    private static let text = """
        [keyring]
        display-name=Default
        ctime=0

        [2]
        item-type=1
        display-name=S
        binary-secret=00ff
        mtime=978307205

        [2:attribute0]
        name=server
        type=string
        value=h

        [1]
        item-type=0
        display-name=A\\sB
        secret=x\\ny=\\\\
        mtime=0

        [1:acl0]
        display-name=secret-tool
        """

    private func read(_ bytes: [UInt8], _ password: String?) throws -> [ImportedItem] {
        try KeyringFile.items(
            in: bytes, password: password.map { SecretBytes(copying: Array($0.utf8)) })
    }

    @Test func `an encrypted keyring is read with its password`() throws {
        let items = try read(Self.encrypted, "pw")
        #expect(
            items.map { "\($0.name)=\($0.secret)" } == [
                "example.org:8443/x bob=tw\nö", "Chrome Safe Storage=three", "mail ada=one",
            ])
        #expect(items[0].keys[.protocolType] == .string("htps"))
        #expect(
            items.map { $0.remarks[.label] }
                == ["Site", "Chrome Safe Storage", "Mail"].map { .string($0) })
        #expect(items.allSatisfy { ($0.modified ?? 0) > 810_000_000 })
        for password in ["", "pw ", nil] {
            #expect(throws: ImportProblem.self) { try read(Self.encrypted, password) }
        }
    }

    @Test func `a keyring without a password is read as text`() throws {
        let items = try read(Array(Self.text.utf8), nil)
        #expect(items.map(\.name) == ["A B", "h"])
        #expect(items.map(\.data) == [Data("x\ny=\\".utf8), Data([0, 255])])
        #expect(items.map(\.modified) == [nil, 5])
        for text in [
            "", "x", "[keyring]\n[1:attribute0]\nname=hunter2", "[keyring]\n[1]\nbinary-secret=0",
        ] {
            #expect(throws: ImportProblem.self) { try read(Array(text.utf8), nil) }
        }
    }

    @Test func `a text keyring may have CR LF line ends and secrets with combining marks`() throws {
        let text = "[keyring]\r\n[1]\r\ndisplay-name=a\r\nsecret=\u{301}b=c\\n\u{301}\\\\\r\n"
        let items = try read(Array(text.utf8), nil)
        #expect(items.map(\.data) == [Data("\u{301}b=c\n\u{301}\\".utf8)])
    }

    @Test func `items with the same name are numbered`() throws {
        let text = "[keyring]\n[1]\ndisplay-name=a\nsecret=x\n[2]\ndisplay-name=a\nsecret=y\n"
        #expect(try read(Array(text.utf8), nil).map(\.name) == ["a", "a (2)"])
    }

    @Test func `a truncated keyring is refused, and a changed one never gives different secrets`()
        throws
    {
        let whole = Self.encrypted
        let names = try read(whole, "pw").map(\.name)
        for end in whole.indices {
            #expect(throws: ImportProblem.self) { try read(Array(whole[..<end]), "pw") }
        }
        for index in whole.indices {
            for bit in [0x01, 0x80] as [UInt8] {
                var changed = whole
                changed[index] ^= bit
                // The iteration count isn't changed, because a large count makes the key
                // derivation slow.
                if (56..<60).contains(index) { continue }
                let found = try? read(changed, "pw").map(\.secret)
                let isSame = try found.map { try $0 == read(whole, "pw").map(\.secret) }
                #expect(isSame ?? true, "byte \(index)")
            }
        }
        #expect(names.count == 3)
    }
}
