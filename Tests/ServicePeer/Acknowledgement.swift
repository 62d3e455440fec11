// Acknowledgement: what a peer tells the test.

import Foundation

/// Writes a line at once, so that it is out before anything else happens.
func acknowledge(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
