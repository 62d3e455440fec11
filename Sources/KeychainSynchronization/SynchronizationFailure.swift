// SynchronizationFailure: why data from the server was rejected.
//   (1) A rejection changes nothing, so correct data can be accepted later.
//   (2) Reasons name entries and machines, never items.

/// Why an entry, a head or a message of joining is rejected.
package enum SynchronizationFailure: Error, Hashable, Sendable {
    /// Bytes that no machine of this version writes.
    case malformed(String)
    /// A signature that is not the one of the machine that is named.
    case badSignature(String)
    /// An entry of another circle, or of another machine's log.
    case misplaced(String)
    /// Not the next entry: something in between was left out, or comes later.
    case gap(String)
    /// Another history than the one that was seen before. It is never joined to it.
    case fork(String)
    /// An entry whose signer was not entitled to it.
    case notEntitled(String)
    /// A message of joining that doesn't fit the ones before it.
    case joining(String)
}

extension SynchronizationFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let what): "Not readable: \(what)."
        case .badSignature(let what): "The signature is wrong: \(what)."
        case .misplaced(let what): "In the wrong place: \(what)."
        case .gap(let what): "Something is missing before it: \(what)."
        case .fork(let what): "The server shows another history than before: \(what)."
        case .notEntitled(let what): "The signer has no right to it: \(what)."
        case .joining(let what): "Joining failed: \(what)."
        }
    }
}
