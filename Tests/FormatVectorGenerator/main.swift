// format-vectors: writes Documentation/Formats/vectors and the worked examples of the documents.
//   swift run format-vectors
// Sealing takes random nonces, so every run gives other bytes. The examples are made of the
// same bytes as the vectors, so both are written together.

import FormatVectors
import FoundationEssentials

let folder = VectorFolder.path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
let keybags = try KeybagVectors()
let rows = try RowVectors(keychains: keybags.keychainsForRows)

try DeviceKeyVectors.file.write("device-key-v1", to: folder)
try keybags.file.write("keybag-v1", to: folder)
try LabelVectors.file.write("label-v1", to: folder)
try RecordVectors.file.write("record-v1", to: folder)
try rows.file.write("row-v1", to: folder)
try HeaderVectors.file.write("header-v1", to: folder)
try AnchorVectors.file.write("anchor-v1", to: folder)

try Example(document: "device-key-v1").write(DeviceKeyVectors.exampleLines)
try Example(document: "keybag-v1").write(try keybags.exampleLines())
try Example(document: "row-v1").write(try rows.exampleLines())
try Example(document: "database-v1").write(
    HeaderVectors.exampleLines + AnchorVectors.exampleLines + PageExample.lines)
