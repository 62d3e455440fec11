// signer: signs standard input with the machine's key. The article "Sign with a key in hardware"
// explains this program.

import CryptoKit
import Foundation

guard SecureEnclave.isAvailable else {
    print("This machine has no TPM 2.0 that you may use.")
    exit(1)
}
do {
    let key = try DeviceKey().load()
    let document = try FileHandle.standardInput.readToEnd() ?? Data()
    let publicKey = key.publicKey.derRepresentation
    let signature = try key.signature(for: document).derRepresentation
    print("public key:", publicKey.base64EncodedString())
    print("signature:", signature.base64EncodedString())
} catch {
    print(error.localizedDescription)
    exit(1)
}
