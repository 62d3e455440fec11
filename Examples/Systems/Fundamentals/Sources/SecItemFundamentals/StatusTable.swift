// StatusTable: nine statuses that the SecItem functions return, with their causes and the program's
// responses.

import Foundation
import Security

/// A status, its cause and the response to it.
public struct StatusRow: Sendable, CustomStringConvertible {
    /// The numeric value.
    public let status: OSStatus
    /// Apple's name of the status.
    public let name: String
    /// The cause of the status.
    public let cause: String
    /// The caller's response.
    public let answer: String

    /// The system's text.
    public var text: String { KeychainError.text(of: status) }

    /// The number, the name and the system's text.
    public var description: String { "\(status) \(name): \(text)" }

    /// The nine rows.
    public static let all = [
        StatusRow(
            status: errSecSuccess, name: "errSecSuccess",
            cause: "The operation succeeded.",
            answer: "Read the result, if a return key requested a result."),
        StatusRow(
            status: errSecDuplicateItem, name: "errSecDuplicateItem",
            cause: "An item with this primary key already exists.",
            answer: "Update the item. Deleting and adding it would lose its persistent reference."),
        StatusRow(
            status: errSecItemNotFound, name: "errSecItemNotFound",
            cause: "No item in the access groups of this program matches.",
            answer: "This is a result, not a failure: return nil."),
        StatusRow(
            status: errSecInteractionNotAllowed, name: "errSecInteractionNotAllowed",
            cause: "The item is locked, or it may exist among items that are locked, or the user "
                + "must be asked but can't be.",
            answer: "Try again after the device is unlocked, or when the user can be asked. Never "
                + "delete or replace the item."),
        StatusRow(
            status: errSecUserCanceled, name: "errSecUserCanceled",
            cause: "The user was asked to authenticate and declined.",
            answer: "Stop. Ask again only when the user starts the action again."),
        StatusRow(
            status: errSecAuthFailed, name: "errSecAuthFailed",
            cause: "Authentication failed, or the item needs a passcode and none is set.",
            answer: "Ask again, or ask the user to set a passcode."),
        StatusRow(
            status: errSecParam, name: "errSecParam",
            cause: "A dictionary has a key or a value that the function doesn't accept, or lacks "
                + "the class.",
            answer: "Correct the program."),
        StatusRow(
            status: errSecNoSuchAttr, name: "errSecNoSuchAttr",
            cause: "The class doesn't have this attribute, or an update sets something other than "
                + "attributes and data.",
            answer: "Correct the program."),
        StatusRow(
            status: errSecMissingEntitlement, name: "errSecMissingEntitlement",
            cause: "The access group isn't among the program's entitlements.",
            answer: "Correct the entitlements file, or the signature on Apple's systems."),
    ]
}
