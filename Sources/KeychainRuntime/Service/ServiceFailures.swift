// ServiceFailures: the errors for a service that can't be reached, isn't trusted, has another
// version, or doesn't answer.

import KeychainCore
import KeychainWire

extension KeychainFailure {
    private static let advice =
        "`keychainctl status` says what is wrong. KEYCHAIN_SERVICE=embedded opens the keychain "
        + "without the service."

    /// No program accepts connections, or the service ends each connection before it carries out
    /// the request.
    static func serviceRefuses(_ path: String) -> KeychainFailure {
        .busy(
            "The keychain service at \(path) doesn't accept connections: it isn't running or is "
                + "overloaded. Start this user's service with `keychainctl service enable`. "
                + advice)
    }

    static func serviceMissing(_ path: String) -> KeychainFailure {
        .busy("There is no keychain service at \(path). Start it and try again. \(advice)")
    }

    /// A timeout before the first request: while connecting, in the handshake, or in subscribing.
    static func serviceSilent(_ path: String) -> KeychainFailure {
        .busy("The keychain service at \(path) doesn't answer. Try again. \(advice)")
    }

    /// A process that holds a secret can't be identified by a service of the same user, so it can't
    /// reconnect.
    static func serviceLost(_ path: String) -> KeychainFailure {
        .busy(
            "The connection to the keychain service at \(path) broke, and can't be restored while "
                + "a secret is in memory. The request was not carried out. Run the command again.")
    }

    static func socketPathTooLong(_ path: String) -> KeychainFailure {
        .param(
            "The path of the keychain service's socket, \(path), isn't 1 to 107 bytes long, or "
                + "contains a NUL byte.")
    }

    static func serviceNotReached(_ path: String, code: Int32) -> KeychainFailure {
        KeychainFailure(
            .notAvailable,
            "The keychain service at \(path) can't be reached (error \(code)). \(advice)")
    }

    static func serviceDenied(_ path: String) -> KeychainFailure {
        .notPermitted(
            "This user may not use the keychain service at \(path). Correct the permissions of the "
                + "socket and its folder. \(advice)")
    }

    static func serviceNotTrusted(_ path: String, userID: UInt32?) -> KeychainFailure {
        let who = userID.map { "the user \($0)" } ?? "an unknown user"
        return .notPermitted(
            "The keychain service at \(path) belongs to \(who), neither to this user nor to root. "
                + "Nothing was sent to it.")
    }

    /// The program that listens there isn't a keychain service, or has another protocol.
    static func serviceUnreadable(_ path: String) -> KeychainFailure {
        KeychainFailure(
            .notAvailable,
            "The answer from \(path) can't be decoded: the program that listens there isn't a "
                + "keychain service, or is one of another version. \(advice)")
    }

    static func serviceOfOtherVersion(_ path: String, _ version: UInt32) -> KeychainFailure {
        KeychainFailure(
            .wrongVersion,
            "The keychain service at \(path) uses version \(version) of the protocol, and this "
                + "program supports versions \(WireLimits.versions.lowerBound) to "
                + "\(WireLimits.versions.upperBound). Update both to the same release, and restart "
                + "the service.")
    }

    /// Why a request that was sent has no answer that can be used.
    enum MissingAnswer: String {
        case late = "The keychain service didn't answer in time."
        case broken = "The connection to the keychain service broke before it answered."
        case unreadable = "The answer of the keychain service can't be decoded."
        case tooLarge = "The answer of the keychain service is too large."
    }

    /// A request was sent, and no answer arrived or the answer can't be used.
    static func unanswered(
        _ operation: RequestCode, _ missing: MissingAnswer
    ) -> KeychainFailure {
        let what = missing.rawValue
        guard !operation.isRead else { return .busy("\(what) Try again. \(advice)") }
        return KeychainFailure(
            .notAvailable,
            "\(what) It is not known whether the change was made. Check before you try again.",
            cause: .interruption)
    }
}
