// InputOption: the options that name a file descriptor to read from.
//   (1) Each descriptor is read to its end. If two options named the same descriptor, the first to
//       read would get all of its bytes: a passcode, for example, would contain the secret that
//       follows. So naming the same input twice is a usage error.

import ArgumentParser
import KeychainCrypto

struct InputOption {
    let name: String
    /// The descriptor, or `nil` if the option was not given.
    let descriptor: Int32?

    init(_ name: String, _ descriptor: Int32?) {
        self.name = name
        self.descriptor = descriptor
    }

    /// - Throws: `ValidationError` with the names of two options that read the same descriptor, or
    ///   the same input through two descriptors.
    static func requireDistinct(_ options: [InputOption]) throws {
        let given = options.filter { $0.descriptor != nil }
        for (index, option) in given.enumerated() {
            for other in given[..<index] {
                guard let first = other.descriptor, let second = option.descriptor,
                    Descriptor.isSameInput(first, second)
                else { continue }
                throw ValidationError(
                    first == second
                        ? "\(other.name) and \(option.name) read the same descriptor, \(first). "
                            + "Use a separate one for each."
                        : "\(other.name) and \(option.name) read the same input, through the "
                            + "descriptors \(first) and \(second). Use a separate one for each.")
            }
        }
    }
}
