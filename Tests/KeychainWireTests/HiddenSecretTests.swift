// HiddenSecretTests: the output of debugging and logging functions for requests and answers.

import Foundation
import KeychainCore
import Testing

@Suite struct `Secrets in values` {
    private static let secret = Data([211, 212, 213, 214, 215, 216, 217, 218])
    private static let grant = AuthenticationGrant(
        token: Bytes16(high: 0xD3D4_D5D6_D7D8_D9DA, low: 0xE3E4_E5E6_E7E8_E9EA))

    private static let authorization = Authorization(
        grant: grant, recognition: grant, applicationPassword: secret)

    /// One request of each type that can contain a secret.
    private static let requests: [any Request] = {
        let passcode = SecretBytes(copying: Array(secret))
        let item = NewItem(
            itemClass: .genericPassword, attributes: [.account: .string("a")], data: secret,
            authorization: authorization)
        let query = ItemQuery(itemClass: .genericPassword, authorization: authorization)
        let pair = IdentityQuery(certificate: query, key: query)
        let changes = ItemChanges(data: secret)
        let key = Data([1])
        return [
            AddItem(item), AddItems([item, item]), FindItems(query), UpdateItems(query, changes),
            PutItem(item, orChange: query, changes), DeleteItems(query, tombstones: .never),
            FindVersions(query), RestoreVersion(query, number: 1), PurgeVersions(query),
            FindIdentities(pair),
            UpdateIdentities(pair, IdentityChanges(certificate: changes, key: changes)),
            DeleteIdentities(pair, tombstones: .never), Authenticate(passcode: passcode),
            AcceptsGrant(grant),
            MakeSecureEnclaveKey(NewSecureEnclaveKey(authorization: authorization)),
            SignDigest(key, with: key, authorization: authorization),
            DeriveSharedSecret(of: key, with: key, authorization: authorization),
            Unlock(passcode: passcode), SetPasscode(passcode),
            ChangePasscode(from: passcode, to: passcode), RemovePasscode(passcode),
            UnlockWith(.passcode(passcode)),
            ChangeSlots(.add(.credential(passcode)), provedBy: .recoveryCode(passcode)),
            RotateKeys(provedBy: .passcode(passcode)), Synchronize(Data(), secret: passcode),
        ]
    }()

    private static let answers: [any Sendable] = {
        let item = ItemSnapshot(
            itemClass: .key, reference: ItemReference(Bytes16(high: 1, low: 2)), attributes: [:],
            accessGroup: "g", protection: .always, isSynchronizable: false, isTombstone: false,
            hasData: true, data: secret)
        let sharedSecret: DeriveSharedSecret.Answer = SecretBytes(copying: secret)
        let version = ItemVersion(number: 1, moment: 2, change: .deleted, item: item)
        return [
            [item], [version], Identity(certificate: item, key: item), grant, sharedSecret,
            Synchronize.Answer(Data(), secret: sharedSecret),
        ]
    }()

    /// The output of all of the standard library's functions that describe a value.
    private func texts(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(dumped)\n\(value)\n\(String(reflecting: value))"
    }

    /// Whether a text contains the secret's first two bytes as a list, one of its bytes as a line
    /// of a dump, or half of the grant's token. Other occurrences of a byte's number don't count,
    /// because its digits could be part of a memory address in the dump of a `Data` value.
    private func shows(_ text: String) -> Bool {
        let halves = [Self.grant.token.high, Self.grant.token.low]
        let tokens = halves.flatMap { ["\($0)", String($0, radix: 16)] }
        let bytes = Self.secret.map { "- \($0)\n" } + ["211, 212"]
        return (tokens + bytes).contains { text.lowercased().contains($0) }
    }

    @Test func `no way to print a request or an answer shows a secret`() {
        // Shows that the test can find the secrets.
        #expect(shows(texts([Self.secret])) && shows(texts(Self.grant.token)))
        for value in Self.requests as [Any] + Self.answers {
            #expect(!shows(texts(value)), "\(type(of: value))")
        }
        let without: Set<RequestCode> = [
            .hasPasscode, .hasSecureEnclave, .lock, .lockAll, .status, .check, .slots,
            .statistics, .setHistory,
        ]
        #expect(without.union(Self.requests.map(\.code)) == Set(RequestCode.allCases))
        #expect(without.isDisjoint(with: Self.requests.map(\.code)))
    }
}
