// The credentials of the one television, for the app and its widget.

public import Foundation
public import Keychain

extension KeychainManager {
    /// What the credentials belong to.
    public static let credentialsService = "com.DaraConsultingInc.LGTVRemoteWidget.credentials"
    /// Whose they are.
    public static let credentialsAccount = "default"
    /// The access group of app and widget, as `tv-app.entitlements` has it, with the team's
    /// identifier for `$(AppIdentifierPrefix)`.
    public static let sharedAccessGroup = "ABCDE12345.com.DaraConsultingInc.LGTVRemote.shared"
    /// The group of app and widget for defaults, by which they share what is no secret.
    public static let sharedDefaultsSuite = "group.com.DaraConsultingInc.LGTVRemote"
    /// Where earlier releases kept the credentials readable in these defaults, as JSON.
    public static let legacyDefaultsKey = "TVCredentials"

    /// Saves the credentials, replacing those that were there.
    ///
    /// - Throws: `KeychainError` as for ``save(_:service:account:)``.
    public func saveCredentials(_ credentials: TVCredentials) throws {
        try save(
            credentials, service: Self.credentialsService, account: Self.credentialsAccount)
    }

    /// Loads the credentials; nil if there are none.
    ///
    /// - Throws: `KeychainError` as for ``load(_:service:account:)``.
    public func loadCredentials() throws -> TVCredentials? {
        try load(service: Self.credentialsService, account: Self.credentialsAccount)
    }

    /// Forgets the credentials. The next use has to pair again.
    ///
    /// - Throws: `KeychainError`; the credentials are still there.
    public func clearCredentials() throws {
        try delete(service: Self.credentialsService, account: Self.credentialsAccount)
    }

    /// The credentials of a paired television. Only if they have no client key, the television is
    /// asked for one.
    ///
    /// If pairing fails, the addresses are stored without a key, and the next call asks again.
    ///
    /// - Parameters:
    ///   - ipAddress: Where the television is now.
    ///   - macAddress: What wakes it up. Another television has to be paired anew.
    ///   - askTelevision: Pairs, and returns the client key.
    /// - Returns: The credentials that are in the keychain.
    /// - Throws: `KeychainError`, or what `askTelevision` throws.
    public func pair(
        ipAddress: String, macAddress: String, askTelevision: () throws -> String
    ) throws -> TVCredentials {
        let stored = try loadCredentials()
        var credentials = TVCredentials(ipAddress: ipAddress, macAddress: macAddress)
        if let stored, stored.macAddress == macAddress { credentials.clientKey = stored.clientKey }
        if credentials != stored { try saveCredentials(credentials) }
        if credentials.clientKey == nil {
            credentials.clientKey = try askTelevision()
            try saveCredentials(credentials)
        }
        return credentials
    }

    /// Moves the credentials of an earlier release out of the defaults.
    ///
    /// They are saved, read back, compared and only then removed from the defaults. Call it at
    /// every start: if it was stopped half-way, the next call does the rest, and afterwards there
    /// is nothing to do. Credentials that are in the keychain already are newer, since only an
    /// earlier release writes to the defaults; they stay.
    ///
    /// - Parameter defaults: The defaults, of the suite ``sharedDefaultsSuite``.
    /// - Returns: What was done, without a value.
    public func migrateCredentials(from defaults: UserDefaults) -> Keychain.Migration.Report {
        let key = KeychainKey<TVCredentials>(Self.credentialsAccount)
        return keychain(Self.credentialsService).migrate(
            [.init(Self.legacyDefaultsKey, to: key)], from: defaults,
            onConflict: .keepDestination)
    }
}
