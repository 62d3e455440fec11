// ServiceCredential: the secret that systemd passes to a service, so that the service unlocks its
// keychain without a user.
//   (1) The credential is a file in the folder named by CREDENTIALS_DIRECTORY, which systemd
//       creates for this service alone. The bytes are used unchanged.

import FoundationEssentials
import Glibc
package import KeychainCore

package enum ServiceCredential {
    /// The variable that names a credential other than ``standardName``.
    package static let variable = "KEYCHAIN_CREDENTIAL"
    package static let standardName = "keychain.unlock"

    /// Reads the credential with the given name, with the name in ``variable``, or with the
    /// ``standardName``. Returns `nil` if this process has none with that name, or if it can't be
    /// read or has more than 1 MiB.
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
