// ServiceCredential: the secret that systemd gives a service, so that it unlocks without a person.
//   (1) It is a file in the folder that CREDENTIALS_DIRECTORY names, which systemd makes for this
//       service alone. Its bytes are taken as they are.

import FoundationEssentials
import Glibc
package import KeychainCore

package enum ServiceCredential {
    /// Names another credential than ``standardName``.
    package static let variable = "KEYCHAIN_CREDENTIAL"
    package static let standardName = "keychain.unlock"

    /// nil: this process was given none of the name.
    package static func read(
        _ name: String? = nil, _ variables: [String: String] = ProcessEnvironment.variables
    ) -> SecretBytes? {
        let name = name ?? variables[variable] ?? standardName
        guard let folder = variables["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/"),
            !name.isEmpty, !name.contains("/"), name != ".", name != "..",
            let file = Files.open("\(folder)/\(name)", O_RDONLY | O_NONBLOCK)
        else { return nil }
        return try? SecretBytes(readingFrom: file.number, atMost: 1 << 20)
    }
}
