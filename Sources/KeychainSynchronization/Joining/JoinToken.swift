// JoinToken: lets a machine join unattended. Documentation/Synchronization.md, "Join tokens".
//   (1) A token decrypts nothing. With the token, a member that is online and has scope *all* can
//       add one machine. The issuer signed the scope that the machine gets, and the time until
//       which it can be added.
//   (2) A thief can use the token instead of its owner. The owner then can't join, and an unknown
//       machine shows in the list of members.

package import KeychainCore
import KeychainCrypto

package struct JoinToken: Sendable {
    /// What the issuer signs, and the signature.
    package struct Grant: Hashable, Sendable {
        package let circle: CircleID
        /// The head of the membership log when the token was created. The joining machine accepts
        /// no log that doesn't contain it.
        package let head: LogHead
        package let issuer: MachineID
        package let scope: GroupScope
        /// Milliseconds since 1970-01-01 00:00:00 UTC.
        package let expires: Int64
        /// The token's public key, X9.63.
        package let publicKey: [UInt8]
        package let signature: [UInt8]

        /// Identifies the token, so that it is used only once.
        package var id: Bytes16 {
            let bytes = Array("swift-keychain sync 1 token".utf8) + publicKey
            return Bytes16(Fingerprint.sha256(of: bytes).prefix(16))
                ?? Bytes16(high: 0, low: 0)
        }

        var signedBytes: [UInt8] {
            var writer = ByteWriter(capacity: 256)
            writer.bytes(Array("KCST".utf8))
            writer.bytes([1, 0, 0, 0])
            circle.digest.write(to: &writer)
            head.write(to: &writer)
            writer.write(issuer)
            scope.write(to: &writer)
            writer.number(expires)
            writer.bytes(publicKey)
            return writer.result
        }

        fileprivate init(
            _ circle: CircleID, _ head: LogHead, _ issuer: MachineID, _ scope: GroupScope,
            _ expires: Int64, _ publicKey: [UInt8], signature: [UInt8]
        ) {
            self.circle = circle
            self.head = head
            self.issuer = issuer
            self.scope = scope
            self.expires = expires
            self.publicKey = publicKey
            self.signature = signature
        }

        init?(reading reader: inout ByteReader) {
            guard reader.bytes(4) == Array("KCST".utf8), reader.bytes(4) == [1, 0, 0, 0],
                let circle = Digest(reading: &reader), let head = LogHead(reading: &reader),
                let issuer = reader.machine(), let scope = GroupScope(reading: &reader),
                let expires: Int64 = reader.number(),
                let publicKey = reader.bytes(MachineDescription.signingKeyByteCount),
                let signature = reader.bytes(SoftwareSigner.signatureByteCount)
            else { return nil }
            self.init(
                CircleID(circle), head, issuer, scope, expires, publicKey, signature: signature)
        }
    }

    package let grant: Grant
    private let signer: SoftwareSigner

    /// Creates a token. `keys` are those of the issuer, a member that may add machines.
    package init(
        for scope: GroupScope, expires: Int64, in circle: Circle, by keys: MachineKeys
    ) throws(KeychainFailure) {
        signer = .random()
        let unsigned = Grant(
            circle.id, circle.head, keys.id, scope, expires, signer.publicKey, signature: [])
        grant = Grant(
            circle.id, circle.head, keys.id, scope, expires, signer.publicKey,
            signature: try keys.signer.signature(over: unsigned.signedBytes))
    }

    // MARK: Requests

    /// The request of a machine that has a token.
    package struct Request: Hashable, Sendable {
        package let grant: Grant
        package let machine: MachineDescription
        package let signature: [UInt8]

        fileprivate static func message(
            _ grant: Grant, _ machine: MachineDescription
        ) -> [UInt8] {
            Array("swift-keychain sync 1 token request".utf8) + grant.circle.digest.bytes
                + machine.bytes
        }

        package init(
            grant: Grant, machine: MachineDescription, signature: [UInt8]
        ) {
            self.grant = grant
            self.machine = machine
            self.signature = signature
        }

        package var bytes: [UInt8] {
            grant.signedBytes + grant.signature + machine.bytes + signature
        }

        /// - Throws: ``SynchronizationFailure/malformed(_:)``. No signature is verified.
        package init(decoding bytes: [UInt8]) throws(SynchronizationFailure) {
            var reader = ByteReader(bytes)
            guard let grant = Grant(reading: &reader),
                let machine = MachineDescription(reading: &reader),
                let signature = reader.bytes(SoftwareSigner.signatureByteCount), reader.isAtEnd
            else { throw .malformed("a request with a join token") }
            self.init(grant: grant, machine: machine, signature: signature)
        }

        /// - Throws: The reason why no member may add the machine for this request.
        package func verify(in circle: Circle, now: Int64) throws(SynchronizationFailure) {
            guard grant.circle == circle.id else {
                throw .misplaced("the join token belongs to another circle")
            }
            guard grant.head.index <= circle.head.index else {
                throw .gap("the entry of the membership log to which a join token refers")
            }
            guard circle.digest(at: grant.head.index) == grant.head.digest else {
                throw .fork("the join token's membership log")
            }
            guard let issuer = circle.member(grant.issuer), issuer.scope == .all else {
                throw .notEntitled(
                    "the issuer of the join token isn't a member that may add machines")
            }
            guard issuer.description.isValid(grant.signature, over: grant.signedBytes) else {
                throw .badSignature("a join token")
            }
            guard now < grant.expires else { throw .joining("the join token has expired") }
            guard !circle.hasUsed(grant.id) else {
                throw .joining("the join token was used before")
            }
            guard machine != circle.recovery else {
                throw .notEntitled("the recovery code's keys can't be those of a machine")
            }
            guard
                let token = MachineDescription(
                    signingKey: grant.publicKey, agreementKey: machine.agreementKey),
                token.isValid(signature, over: Self.message(grant, machine))
            else { throw .badSignature("a request with a join token") }
        }
    }

    package func request(
        for machine: MachineDescription
    ) throws(KeychainFailure) -> Request {
        Request(
            grant: grant, machine: machine,
            signature: try signer.signature(over: Request.message(grant, machine)))
    }

    // MARK: Bytes

    /// The bytes of the token, which are secret until the token has been used or has expired.
    package var bytes: SecretBytes {
        SecretBytes(copying: grant.signedBytes + grant.signature).appending(signer.privateKey)
    }

    /// - Returns: `nil` if the bytes aren't a token.
    package init?(decoding bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let grant = Grant(reading: &reader),
            let scalar = reader.slice(SoftwareSigner.privateKeyByteCount), reader.isAtEnd,
            let signer = SoftwareSigner(privateKey: SecretBytes(copying: scalar)),
            signer.publicKey == grant.publicKey
        else { return nil }
        self.grant = grant
        self.signer = signer
    }
}
