// SecItemAlias: saves, loads, changes, lists and deletes passwords through `import Security`,
// and ends with 1 if anything is not as an Apple developer expects it.

import Foundation

func expect(_ holds: Bool, _ sentence: String) {
    guard holds else {
        FileHandle.standardError.write(Data("Not so: \(sentence).\n".utf8))
        exit(1)
    }
    print("  \(sentence)")
}

do {
    let store = PasswordStore(service: "org.example.secitem")
    for account in try store.accounts() { try store.deletePassword(for: account) }

    expect(try store.password(for: "alice") == nil, "an absent password is nil")
    try store.save("first", for: "alice")
    expect(try store.password(for: "alice") == "first", "a saved password loads")
    try store.save("second", for: "alice")
    expect(try store.password(for: "alice") == "second", "saving again changes it")
    try store.save("pass\0word\n", for: "bob")
    expect(try store.password(for: "bob") == "pass\0word\n", "every byte comes back")
    expect(try store.accounts() == ["alice", "bob"], "both accounts are listed")
    try store.deletePassword(for: "alice")
    try store.deletePassword(for: "alice")
    expect(try store.accounts() == ["bob"], "a deleted password is gone, deleting twice is fine")
    try store.deletePassword(for: "bob")
    expect(try store.accounts().isEmpty, "nothing is left")
} catch {
    FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
    exit(1)
}
