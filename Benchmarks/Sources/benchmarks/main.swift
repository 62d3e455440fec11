// The benchmarks: what the package's operations cost, each beside what the same work costs
// without a keychain.

import Foundation

exit(Program.run(Array(CommandLine.arguments.dropFirst())))
