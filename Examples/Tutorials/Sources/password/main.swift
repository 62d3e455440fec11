// password: saves or shows the password of an account. The article "Share code with iOS" explains
// this program.

import Foundation
import PasswordStore

let store = PasswordStore(service: "com.example.password")
let account = CommandLine.arguments.dropFirst(2).first ?? "default"
do {
    if CommandLine.arguments.dropFirst().first == "save" {
        if let password = readLine() {
            try store.save(password, for: account)
        }
    } else {
        let password = try store.password(for: account)
        print(password ?? "No password is saved for \(account).")
    }
} catch {
    print(error.localizedDescription)
    exit(1)
}
