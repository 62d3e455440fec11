// StatusTable: the nine statuses that every user of Security meets, what each says of the
// program, and what the program does next.

import Foundation
import Security

/// One status and how to take it.
public struct StatusRow: Sendable, CustomStringConvertible {
    /// The number.
    public let status: OSStatus
    /// Apple's name of it.
    public let name: String
    /// When it comes.
    public let cause: String
    /// What the caller does.
    public let answer: String

    /// The system's text.
    public var text: String { SecurityError.text(of: status) }

    /// Number, name and the system's text.
    public var description: String { "\(status) \(name): \(text)" }

    /// The nine rows.
    public static let all = [
        StatusRow(
            status: errSecSuccess, name: "errSecSuccess",
            cause: "It was done.",
            answer: "Read the result, if a return key asked for one."),
        StatusRow(
            status: errSecDuplicateItem, name: "errSecDuplicateItem",
            cause: "An item has this primary key already.",
            answer: "Update it; don't delete and add, which loses its references."),
        StatusRow(
            status: errSecItemNotFound, name: "errSecItemNotFound",
            cause: "Nothing matches, in the access groups of this program.",
            answer: "It is an answer, not a failure: nil."),
        StatusRow(
            status: errSecInteractionNotAllowed, name: "errSecInteractionNotAllowed",
            cause: "The item is there and locked, and nobody may be asked.",
            answer: "Wait for the unlock. Never delete, never create anew."),
        StatusRow(
            status: errSecUserCanceled, name: "errSecUserCanceled",
            cause: "A person was asked to be present and said no.",
            answer: "Leave it, as the person wants. Ask again when they act again."),
        StatusRow(
            status: errSecAuthFailed, name: "errSecAuthFailed",
            cause: "What proves the right to the item is wrong or missing, the passcode mostly.",
            answer: "Ask again, or say that a passcode has to be set."),
        StatusRow(
            status: errSecParam, name: "errSecParam",
            cause: "A dictionary has a key or a value that the call doesn't take.",
            answer: "Mend the program."),
        StatusRow(
            status: errSecNoSuchAttr, name: "errSecNoSuchAttr",
            cause: "An attribute isn't one of the class, or what should change is no attribute.",
            answer: "Mend the program."),
        StatusRow(
            status: errSecMissingEntitlement, name: "errSecMissingEntitlement",
            cause: "The access group isn't among the program's entitlements.",
            answer: "Mend the entitlements file, or the signature on Apple's systems."),
    ]
}
