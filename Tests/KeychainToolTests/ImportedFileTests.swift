// ImportedFileTests: exports of other programs, in the formats of these programs, and the output of
// `keychainctl export json`.
// The formats of the other programs are from RFC 4180, exports of KeePassXC 2.7 and Chrome, the
// user guide of the AWS CLI, docker's config.json, and the output of `security dump-keychain -d` on
// macOS.

import Foundation
import KeychainCore
import Testing

@testable import KeychainTool

@Suite struct `Exports of other programs` {
    private static let keePassXC = #"""
        "Group","Title","Username","Password","URL","Notes","TOTP","Icon"
        "Root","Mail","ada","a,""b""","https://example.org:8443/login?x","n","","0"
        "Root/Work","Safe","","x
        y","","","GEZDGNBVGY3TQOJQ","0"
        """#
    private static let chrome =
        "\u{FEFF}name,url,username,password,note\r\nm,http://m/,a,x,\r\n,,,,\r\n"
    private static let aws = """
        # remark
        [default]
        aws_access_key_id = AK
        aws_secret_access_key=S=/+
        s3 =
          max_concurrent_requests = 3
        [role]
        role_arn = arn
        """
    private static let docker = #"""
        {"auths": {
          "https://r/v1/": {"auth": "YWRhOmE6Yg=="},
          "t": {"auth": "", "identitytoken": "k"},
          "zeros": {"auth": "YWRhOgBhAGIAAA=="},
          "empty": {}
        }, "credsStore": "x"}
        """#
    private static let dump = #"""
        keychain: "/Users/ada/Library/Keychains/login.keychain-db"
        version: 512
        class: "genp"
        attributes:
            0x00000007 <blob>="Label"
            "acct"<blob>=0x61C3A9  "a\303\251"
            "svce"<blob>="s"t"
            "gena"<blob>=<NULL>
        data:
        "p"w"
        keychain: "/Users/ada/Library/Keychains/login.keychain-db"
        class: "inet"
        attributes:
            "acct"<blob>="b"
            "path"<blob>=<NULL>
            "port"<uint32>=0x000001BB
            "ptcl"<uint32>="htps"
            "srvr"<blob>="h"
        data:
        0x78C3A9  "x\303\251"
        keychain: "/Users/ada/Library/Keychains/login.keychain-db"
        class: 0x0000000F
        attributes:
        data:
        0x00
        """#

    private static let exported = #"""
        [{"class": "generic", "service": "db", "account": "ada", "label": "L", "comment": "C",
          "group": "g", "accessible": "when-unlocked", "synchronizable": true,
          "modified": "2026-05-01T12:00:00Z", "data": "eA==", "other": [1]},
         {"class": "internet", "server": "h", "account": "b", "protocol": "https", "port": 443,
          "path": "/p", "data": ""}]
        """#
    /// Four items of one service: one in the group g, one in the group h, a synchronizable one in
    /// the group h, and a repetition of the first item.
    private static let repeated = #"""
        [{"class": "generic", "service": "db", "group": "g", "synchronizable": false,
          "data": "eA=="},
         {"class": "generic", "service": "db", "group": "h", "synchronizable": false,
          "data": "eQ=="},
         {"class": "generic", "service": "db", "group": "h", "synchronizable": true,
          "data": "eA=="},
         {"class": "generic", "service": "db", "group": "g", "synchronizable": false,
          "data": "eA=="}]
        """#

    @Test(
        arguments: [
            (
                .csv, keePassXC,
                [
                    "example.org:8443/login ada=a,\"b\"", "Safe=x\ny",
                    "Safe (TOTP)=otpauth://totp/Safe?secret=GEZDGNBVGY3TQOJQ",
                ]
            ),
            (.csv, chrome, ["m a=x"]),
            (.csv, "password,title\nx,m\ny,n\n", ["m=x", "n=y"]),
            (
                .aws, aws,
                [#"aws default={"AccessKeyId":"AK","SecretAccessKey":"S=/+","Version":1}"#]
            ),
            (.docker, docker, ["https://r/v1/ ada=a:b", "t <token>=k", "zeros ada=a\0b"]),
            (.keychainDump, dump, ["s\"t aé=p\"w", "h:443 b=xé"]),
            (.json, exported, ["db ada=x", "h:443/p b="]),
            (.json, "[]", []),
            (.json, repeated, ["db=x", "db=y", "db=x"]),
        ] as [(ImportSource, String, [String])])
    func `secrets in exports of other programs and of keychainctl are imported`(
        _ source: ImportSource, _ text: String, _ items: [String]
    ) throws {
        let read = try source.items(in: Array(text.utf8), named: "f", service: "s")
        #expect(read.map { "\($0.name)=\($0.secret)" } == items)
    }

    /// A combining mark belongs to the character before it, here a separator or a quotation mark.
    @Test(
        arguments: [
            (.env, "A=\u{301}b=c", ["s A=\u{301}b=c"]), (.env, "A='\u{301}b'", ["s A=\u{301}b"]),
            (.netrc, "machine h login a password \u{301}b", ["h a=\u{301}b"]),
            (.csv, "name,password\nm,\u{301}b\n", ["m=\u{301}b"]),
            (
                .docker, "{\"auths\": {\"r\": {\"auth\": \"YTrMgWI6Yw==\"}}}",
                ["r a=\u{301}b:c"]
            ),
            (.gitCredentials, "https://a:\u{301}b:c@h", ["h a=\u{301}b:c"]),
        ] as [(ImportSource, String, [String])])
    func `a secret that begins with a combining mark is imported unchanged`(
        _ source: ImportSource, _ text: String, _ items: [String]
    ) throws {
        let read = try source.items(in: Array(text.utf8), named: "f", service: "s")
        #expect(read.map { "\($0.name)=\($0.secret)" } == items)
    }

    @Test func `lines of a password store's entry may end in CR LF`() {
        let items = PasswordStore.items(of: "web/ada", "\u{301}b\r\nnote\r\n", modified: nil)
        #expect(
            items.map { "\($0.name)=\($0.secret)" } == ["web ada=\u{301}b", "web (notes) ada=note"])
    }

    @Test func `the search of a password store follows symbolic links to folders`() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? files.removeItem(atPath: folder) }
        let store = folder + "/store"
        for path in ["/store/web", "/store/.git", "/elsewhere/mail"] {
            try files.createDirectory(
                atPath: folder + path, withIntermediateDirectories: true)
        }
        for file in ["store/a", "store/web/b", "store/.git/c", "elsewhere/mail/d"] {
            #expect(files.createFile(atPath: "\(folder)/\(file).gpg", contents: nil))
        }
        try files.createSymbolicLink(
            atPath: store + "/linked", withDestinationPath: folder + "/elsewhere")
        try files.createSymbolicLink(
            atPath: store + "/web/up", withDestinationPath: store)
        #expect(try PasswordStore.names(in: store) == ["a", "linked/mail/d", "web/b"])
    }

    @Test(
        arguments: [
            (.csv, "name,user,secret\nhunter2,,", 1), (.csv, "name,password\na\nhunter2", 2),
            (.csv, "name,password\nm,\"hunter2", 2), (.csv, "name,password\nm,\"hun\"ter2", 2),
            (.csv, "name,password\n,hunter2", 2),
            (.csv, "name,password,totp\n,,GEZDGNBVGY3TQOJQ", 2),
            (.csv, "url,password\n\"a\nb\",x\n,hunter2", 4),
            (.csv, "name,password,totp\nm,x,hunter2!", 2),
            (.csv, "name,password\nm,x\nm,hunter2", 3),
            (.aws, "aws_secret_access_key = hunter2", 1), (.aws, "[p]\nhunter2", 2),
            (.aws, "\n[p]\naws_secret_access_key = hunter2", 2),
            (.docker, #"{"auths":{"r":{"auth":"hunter2"}}}"#, 1), (.docker, "hunter2", 1),
            (.keychainDump, "hunter2", 1), (.json, "hunter2", 1), (.json, "{}", 1),
            (.json, #"[{"class": "generic", "data": "hunter2"}]"#, 1),
            (.json, #"[{"class": "key", "data": "eA=="}]"#, 1),
            (.json, #"[{"class": "generic", "service": "s"}]"#, 1),
            (.json, #"[{"class": "generic", "data": "eA==", "accessControl": ["x"]}]"#, 1),
            (.json, #"[{"class": "generic", "data": "eA==", "accessible": "hunter2"}]"#, 1),
            (.keychainDump, "keychain: \"/k\"\nclass: \"genp\"\ndata:\nhunter2\n", 4),
        ] as [(ImportSource, String, Int)])
    func `the error for an invalid line of an export states its number, not its secret`(
        _ source: ImportSource, _ text: String, _ line: Int
    ) throws {
        let failure = try #require(throws: ControlFailure.self) {
            try source.items(in: Array(text.utf8), named: "f", service: "s")
        }
        #expect(failure.message.hasPrefix("f:\(line): "), "\(failure.message)")
        #expect(!failure.message.contains("hun") && !failure.message.contains("ter2"))
    }

    @Test func `dates, groups and protection classes of an export are imported`() throws {
        let item = try ImportSource.json.items(
            in: Array(Self.exported.utf8), named: "f", service: "")[0]
        #expect(item.modified == 799_329_600 && item.group == "g")
        #expect(item.protection == .whenUnlocked && item.isSynchronizable == true)
        #expect(item.remarks == [.label: .string("L"), .comment: .string("C")])
        let dump = Self.dump.replacing(
            "    \"port\"",
            with: "    \"mdat\"<timedate>=0x32303236303530313132303030305A00  \"2\"\n    \"port\"")
        let dumped = try ImportSource.keychainDump.items(
            in: Array(dump.utf8), named: "f", service: "")
        #expect(dumped.map(\.modified) == [nil, 799_329_600])
        let table = "name,password,totp,Last Modified\nm,x,GEZDGNBVGY3TQOJQ,2026-05-01T12:00:00Z\n"
        let rows = try ImportSource.csv.items(in: Array(table.utf8), named: "f", service: "")
        #expect(rows.map(\.modified) == [799_329_600, 799_329_600])
    }

    // The entries have the format of pass(1) and pass-otp(1).
    @Test(arguments: [
        ("a", "x", ["a=x"]), ("a/b/c", "x\n", ["a/b c=x"]), ("a", "", ["a="]),
        ("a", "x\n\n", ["a=x"]),
        ("a/b", "x\nlogin: y\n\nz\n", ["a b=x", "a (notes) b=login: y\n\nz"]),
        (
            "a/b", "x\notpauth://totp/x?secret=GE&issuer=My Co\notpauth://totp/x?secret=GE",
            [
                "a b=x", "a (TOTP) b=otpauth://totp/x?secret=GE",
                "a (notes) b=otpauth://totp/x?secret=GE&issuer=My Co",
            ]
        ),
        ("a", "otpauth://totp/x?secret=GE", ["a (TOTP)=otpauth://totp/x?secret=GE"]),
    ])
    func `every part of a pass entry is imported`(
        _ name: String, _ text: String, _ items: [String]
    ) {
        let read = PasswordStore.items(of: name, text, modified: 5)
        #expect(read.map { "\($0.name)=\($0.secret)" } == items)
        #expect(read.allSatisfy { $0.modified == 5 })
    }

    @Test func `labels, addresses and the attributes that Docker searches for are imported`() throws
    {
        let mail = try ImportSource.csv.items(
            in: Array(Self.keePassXC.utf8), named: "f", service: "")[0]
        #expect(mail.remarks == [.label: .string("Mail")])
        #expect(mail.keys[.protocolType] == .string("htps"))
        #expect(mail.keys[.path] == .string("/login"))
        let registry = try ImportSource.docker.items(
            in: Array(Self.docker.utf8), named: "f", service: "")[0]
        #expect(registry.remarks[.description] == .string("registry credential"))
    }
}
