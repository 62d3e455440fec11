// GroupScope: which access groups a machine may see.

package import KeychainCore

/// The access groups whose items a machine may have.
package enum GroupScope: Hashable, Sendable {
    /// All present and future groups. A machine with this scope may change the membership.
    case all
    /// The groups with these labels, see ``CircleKey/label(of:)``.
    case groups(Set<Bytes16>)

    package func includes(_ label: Bytes16) -> Bool {
        switch self {
        case .all: true
        case .groups(let labels): labels.contains(label)
        }
    }

    init?(reading reader: inout ByteReader) {
        guard let code: UInt8 = reader.number() else { return nil }
        switch code {
        case 0:
            self = .all
        case 1:
            guard let labels = reader.identifiers() else { return nil }
            self = .groups(labels)
        default:
            return nil
        }
    }

    func write(to writer: inout ByteWriter) {
        switch self {
        case .all:
            writer.number(UInt8(0))
        case .groups(let labels):
            writer.number(UInt8(1))
            writer.list(labels)
        }
    }
}
