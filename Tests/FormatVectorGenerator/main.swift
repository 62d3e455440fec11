// format-vectors: writes device-key-v2.json and all vectors of version 1, except row-v1.json and
// header-v1.json, to Documentation/Formats/vectors. It also writes the worked examples in the
// documents of these formats:
//   swift run format-vectors
// It can also write whole keychains with a list of their contents, for the tests of another
// implementation:
//   swift run format-vectors stores FOLDER
// Sealing uses random nonces, so every run writes different bytes. The examples use the same bytes
// as the vectors, so both are written together. Rows and headers of version 1 can be read but no
// longer written. Their vectors, and the examples in row-v1.md and database-v1.md, aren't changed.

import FormatVectors
import Foundation

if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "stores" {
    let stores = Stores(directory: CommandLine.arguments[2])
    try stores.write()
    // The process ends, like a killed process, without closing the keychains whose write-ahead logs
    // are to stay.
    withExtendedLifetime(stores) { exit(0) }
}

let folder = VectorFolder.path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
let keybags = try KeybagVectors()

try DeviceKeyVectors.file.write("device-key-v1", to: folder)
try SealedDeviceKeyVectors.file.write("device-key-v2", to: folder)
try keybags.file.write("keybag-v1", to: folder)
try LabelVectors.file.write("label-v1", to: folder)
try RecordVectors.file.write("record-v1", to: folder)
try AnchorVectors.file.write("anchor-v1", to: folder)
let enclaveKeys = try SecureEnclaveVectors()
try enclaveKeys.file.write("secure-enclave-key-v1", to: folder)
try CircleVectors().file.write("circle-v1", to: folder)

try Example(document: "device-key-v1").write(DeviceKeyVectors.exampleLines)
try Example(document: "device-key-v2").write(SealedDeviceKeyVectors.exampleLines)
try Example(document: "keybag-v1").write(try keybags.exampleLines())
try Example(document: "secure-enclave-key-v1").write(enclaveKeys.exampleLines)
