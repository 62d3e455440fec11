// Fields: the single fields that several messages have.
//   (1) Every function here takes what any program may have sent, and answers `param` where that is
//       no value.

import FoundationEssentials
import KeychainModel

extension ItemClass {
    init(wire code: UInt32) throws(KeychainFailure) {
        guard let itemClass = ItemClass(rawValue: code) else {
            throw .param("A message of the keychain service names a class that isn't known.")
        }
        self = itemClass
    }
}

extension ProtectionClass {
    init(wire number: UInt32) throws(KeychainFailure) {
        guard let small = UInt8(exactly: number), let match = ProtectionClass(rawValue: small)
        else {
            throw .param(
                "A message of the keychain service names a protection class that isn't known.")
        }
        self = match
    }

    var wire: UInt32 { UInt32(rawValue) }
}

extension AccessConstraints {
    /// The constraints of a request, which have a meaning.
    init(requested bits: UInt64) throws(KeychainFailure) {
        let constraints = AccessConstraints(rawValue: bits)
        guard constraints.isSubset(of: .known) else {
            throw .param("A message of the keychain service names access control without meaning.")
        }
        self = constraints
    }
}

extension Bytes16 {
    init(wire data: Data) throws(KeychainFailure) {
        guard let bytes = Bytes16(data) else {
            throw .param("A message of the keychain service has \(data.count) bytes and not 16.")
        }
        self = bytes
    }

    var wire: Data { Data(bytes) }
}

extension Int {
    init(wire number: UInt64) throws(KeychainFailure) {
        guard let number = Int(exactly: number) else {
            throw .param("A message of the keychain service has a number that is too large.")
        }
        self = number
    }
}

extension WireAccessGroups {
    init(_ groups: AccessGroups) {
        self.init()
        names = groups.names
        includesAll = groups.includesAll
    }

    var groups: AccessGroups {
        AccessGroups(names + (includesAll ? [AccessGroups.wildcard] : []))
    }
}

extension WireAuthorization {
    init(_ authorization: Authorization) {
        self.init()
        if let grant = authorization.grant { self.grant = grant.token.wire }
        if let recognition = authorization.recognition {
            self.recognition = recognition.token.wire
        }
        if let password = authorization.applicationPassword { applicationPassword = password }
        if let enrollment = authorization.enrollment { self.enrollment = enrollment }
    }

    func authorization() throws(KeychainFailure) -> Authorization {
        Authorization(
            grant: hasGrant ? AuthenticationGrant(token: try Bytes16(wire: grant)) : nil,
            recognition: hasRecognition
                ? AuthenticationGrant(token: try Bytes16(wire: recognition)) : nil,
            applicationPassword: hasApplicationPassword ? applicationPassword : nil,
            enrollment: hasEnrollment ? enrollment : nil)
    }
}

extension WireTombstonePolicy {
    init(_ policy: TombstonePolicy) {
        self =
            switch policy {
            case .automatic: .automatic
            case .always: .always
            case .never: .never
            }
    }

    func policy() throws(KeychainFailure) -> TombstonePolicy {
        switch self {
        case .automatic: .automatic
        case .always: .always
        case .never: .never
        case .UNRECOGNIZED: throw .param("The tombstone policy isn't known.")
        }
    }
}
