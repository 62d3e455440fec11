// The benchmarks: the cost of the package's operations, compared with the cost of the same work
// without a keychain.

import Foundation

exit(Program.run(Array(CommandLine.arguments.dropFirst())))
