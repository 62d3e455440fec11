// SynchronizationFailure: why data from the server was rejected.
//   (1) A rejection changes nothing but the list of notices, so correct data can be accepted later.
//   (2) Reasons name entries and machines, never items.

/// Why an entry, a part of an entry, a signed head, a message for joining a circle, or a join token
/// is rejected.
package enum SynchronizationFailure: Error, Hashable, Sendable {
    /// The data can't be decoded or opened, or isn't valid in its place.
    case malformed(String)
    /// The signature is not that of the stated machine.
    case badSignature(String)
    /// The data belongs to another circle, or to a log other than the expected one, or the
    /// membership log has it already.
    case misplaced(String)
    /// An entry with this index was read before. Another relay of the same keychain may have
    /// delivered it.
    case repeated(String)
    /// The entry is not the next one: entries before it were omitted, or arrive later. Or the entry
    /// refers to an entry of the membership log that was not read yet.
    case gap(String)
    /// The history differs from the one that was seen before. The two histories are never merged.
    case fork(String)
    /// The signer was not entitled to sign the data, or a change doesn't fit the members.
    case notEntitled(String)
    /// The message doesn't fit the earlier messages for joining, too many attempts failed, or the
    /// join token has expired or was used.
    case joining(String)
}

extension SynchronizationFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let what): "The data is invalid: \(what)."
        case .badSignature(let what): "The signature of \(what) is wrong."
        case .misplaced(let what): "Unexpected: \(what)."
        case .repeated(let what): "Received again: \(what)."
        case .gap(let what): "Entries are missing before \(what)."
        case .fork(let what): "The server shows a different history than before: \(what)."
        case .notEntitled(let what): "Not permitted: \(what)."
        case .joining(let what): "Joining failed: \(what)."
        }
    }
}
